#include "weights.h"

__extension__ typedef unsigned __int128 dpf_u128;

/* ceil(w (2^64 - decay) / 2^64) = w - floor(w decay / 2^64) */
static inline uint64_t next(uint64_t w, uint64_t decay) { return w - (uint64_t)((dpf_u128)w * decay >> 64); }

uint64_t dpf_weights_skip(uint64_t w, uint64_t decay, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        const uint64_t after = next(w, decay);
        if (after == w) return w; /* it stays there for ever */
        w = after;
    }
    return w;
}

uint64_t dpf_weights_fill(uint64_t w, uint64_t decay, uint64_t *out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = w = next(w, decay);
    return w;
}
