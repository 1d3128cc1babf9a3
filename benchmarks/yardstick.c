/* The yardstick: what plain C makes of the two-player round of Block with the double-six set.
 *
 *   cc -O3 -march=native yardstick.c -o yardstick && ./yardstick GAMES SECONDS
 *   ./yardstick trace STEPS
 *
 * N games in lockstep. A step lays a uniformly random legal tile or passes, ends and deals the round anew where it is
 * over, and writes what the next player sees: 121 float32 and a mask of 57 int8, laid out as in block_env.observation.
 * Prints the steps made and the seconds they took. There are no options and no checks: it is a mark to measure
 * against, not an environment. "trace" plays one game and prints, a line a step, both hands (as bits over tile ids),
 * opener and scores, the action, and before it the observation and the mask: for the test against block_env.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TILES = 28, PIPS = 7, HAND = 7, D = 121, A = 57 };

typedef struct {
    uint64_t random;
    uint32_t hands[2], laid[2];
    int32_t lacks[2], tiles_left[2], scores[2];
    int32_t left, right, to_play, opener, passes;
} Game;

static int low[TILES], high[TILES];
static uint32_t suit[PIPS];

static inline uint32_t next_random(Game *g) { /* xorshift64* */
    uint64_t x = g->random;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    g->random = x;
    return (uint32_t)((x * 0x2545F4914F6CDD1DULL) >> 32);
}

static inline uint32_t below(Game *g, uint32_t n) { return (uint32_t)(((uint64_t)next_random(g) * n) >> 32); }

static void deal(Game *g, int opener) {
    uint8_t order[TILES];
    for (int k = 0; k < TILES; k++) order[k] = (uint8_t)k;
    for (int seat = 0, k = 0; seat < 2; seat++) {
        g->hands[seat] = 0;
        for (int n = 0; n < HAND; n++, k++) {
            int other = k + (int)below(g, (uint32_t)(TILES - k));
            uint8_t tile = order[other];
            order[other] = order[k];
            g->hands[seat] |= 1u << tile;
        }
        g->laid[seat] = 0, g->lacks[seat] = 0, g->tiles_left[seat] = HAND;
    }
    g->left = g->right = -1;
    g->to_play = g->opener = opener;
    g->passes = 0;
}

static inline uint32_t legal(const Game *g, int end) {
    uint32_t hand = g->hands[g->to_play];
    if (g->left < 0) return end == 0 ? hand : 0;
    return hand & suit[end == 0 ? g->left : g->right];
}

static int pips(uint32_t hand) {
    int total = 0;
    for (; hand; hand &= hand - 1) {
        int tile = __builtin_ctz(hand);
        total += low[tile] + high[tile];
    }
    return total;
}

static void end_round(Game *g, int domino) {
    int own[2] = {pips(g->hands[0]), pips(g->hands[1])}, mover = g->to_play;
    if (domino) g->scores[mover] += own[1 - mover];
    else if (own[0] < own[1]) g->scores[0] += own[1] - own[0];
    else if (own[1] < own[0]) g->scores[1] += own[0] - own[1];
    int opener = 1 - g->opener;
    if (g->scores[0] >= 100 || g->scores[1] >= 100) { /* a new match, opened by lot */
        g->scores[0] = g->scores[1] = 0;
        opener = (int)below(g, 2);
    }
    deal(g, opener);
}

static int step(Game *g) { /* the action, as in block_env.actions */
    uint32_t left = legal(g, 0), right = legal(g, 1);
    int mover = g->to_play, count = __builtin_popcount(left) + __builtin_popcount(right), action = A - 1;
    if (count == 0) {
        g->lacks[mover] |= 1 << g->left | 1 << g->right;
        if (++g->passes == 2) {
            end_round(g, 0);
            return action;
        }
    } else {
        uint64_t both = (uint64_t)right << 32 | left;
        for (int skip = (int)below(g, (uint32_t)count); skip; skip--) both &= both - 1;
        int place = __builtin_ctzll(both), tile = place & 31;
        action = place < 32 ? tile : TILES + tile;
        if (g->left < 0) g->left = low[tile], g->right = high[tile];
        else if (place < 32) g->left = low[tile] + high[tile] - g->left;
        else g->right = low[tile] + high[tile] - g->right;
        g->hands[mover] &= ~(1u << tile);
        g->laid[mover] |= 1u << tile;
        g->passes = 0;
        if (--g->tiles_left[mover] == 0) {
            end_round(g, 1);
            return action;
        }
    }
    g->to_play = 1 - mover;
    return action;
}

static void bits(uint32_t set, int count, float *out) {
    for (int k = 0; k < count; k++) out[k] = (float)(set >> k & 1);
}

static void observe(const Game *g, float *out, int8_t *mask) {
    int seat = g->to_play, other = 1 - seat;
    bits(g->hands[seat], TILES, out);
    bits(g->laid[seat], TILES, out + 28);
    bits(g->laid[other], TILES, out + 56);
    bits(g->left < 0 ? 0 : 1u << g->left, PIPS, out + 84);
    bits(g->left < 0 ? 0 : 1u << g->right, PIPS, out + 91);
    out[98] = (float)g->tiles_left[seat] / HAND, out[99] = (float)g->tiles_left[other] / HAND;
    bits((uint32_t)g->lacks[seat], PIPS, out + 100);
    bits((uint32_t)g->lacks[other], PIPS, out + 107);
    out[114] = g->opener == seat, out[115] = g->opener == other;
    out[116] = 1, out[117] = 0;
    out[118] = (float)g->passes / 2;
    out[119] = (float)g->scores[seat] / 100, out[120] = (float)g->scores[other] / 100;
    uint32_t left = legal(g, 0), right = legal(g, 1);
    for (int k = 0; k < TILES; k++) mask[k] = left >> k & 1;
    for (int k = 0; k < TILES; k++) mask[TILES + k] = right >> k & 1;
    mask[A - 1] = !(left | right);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void trace(long steps) {
    Game game = {.random = 0x9E3779B97F4A7C15ULL}, *g = &game;
    float observation[D];
    int8_t mask[A];
    deal(g, (int)below(g, 2));
    for (; steps; steps--) {
        observe(g, observation, mask);
        printf("%u %u %d %d %d", g->hands[0], g->hands[1], g->opener, g->scores[0], g->scores[1]);
        printf(" %d", step(g));
        for (int k = 0; k < D; k++) printf(" %.9g", observation[k]);
        for (int k = 0; k < A; k++) printf(" %d", mask[k]);
        printf("\n");
    }
}

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 4096, steps = 0;
    double seconds = argc > 2 ? atof(argv[2]) : 1.0, start;
    for (int a = 0, tile = 0; a < PIPS; a++)
        for (int b = a; b < PIPS; b++, tile++) low[tile] = a, high[tile] = b, suit[a] |= 1u << tile, suit[b] |= 1u << tile;
    if (argc > 2 && strcmp(argv[1], "trace") == 0) {
        trace(atol(argv[2]));
        return 0;
    }
    Game *games = calloc((size_t)count, sizeof *games);
    float *observation = calloc((size_t)count * D, sizeof *observation);
    int8_t *mask = calloc((size_t)count * A, sizeof *mask);
    if (!games || !observation || !mask) return 1;
    for (long k = 0; k < count; k++) {
        games[k].random = 0x9E3779B97F4A7C15ULL * (uint64_t)(k + 1);
        deal(&games[k], (int)below(&games[k], 2));
    }
    start = now();
    do {
        for (long repeat = 1 + 100000 / count; repeat; repeat--, steps += count)
            for (long k = 0; k < count; k++) {
                step(&games[k]);
                observe(&games[k], observation + k * D, mask + k * A);
            }
    } while (now() - start < seconds);
    double took = now() - start, sum = 0;
    for (long k = 0; k < count * D; k++) sum += observation[k];
    printf("%ld %.6f\n", steps, took);
    return sum < 0; /* so that nothing can be left out */
}
