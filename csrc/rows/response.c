/* The k-ary response law and its kernels for every SIMD target. */
#include "response.h"

#include <string.h>

/* 128-bit products and shifts, exact; GCC and clang have the type on every 64-bit target. */
__extension__ typedef unsigned __int128 dpf_u128;

/* floor(a / b) by the inverse floor((2^64 - 1)/b). With e = 2^64/b - inverse, 0 < e <= 1, the true quotient exceeds
 * a * inverse / 2^64 by a * e / 2^64 < 1, so the estimate is the quotient or one less. */
static inline uint64_t quotient(uint64_t a, uint64_t b, uint64_t inverse) {
    const uint64_t q = (uint64_t)((dpf_u128)a * inverse >> 64);
    return q + (a - q * b >= b);
}

static inline uint32_t uniform_category(const dpf_response_t *law, uint64_t word) {
    if (law->k == 1) return 0;
    if (word < law->wide_words) return (uint32_t)quotient(word, law->share + 1, law->wide_inverse);
    return law->wide + (uint32_t)quotient(word - law->wide_words, law->share, law->share_inverse);
}

/* The law itself: the answer to `code` under one whole word. */
static inline uint32_t decide(const dpf_response_t *law, uint64_t word, uint32_t code) {
    if (law->uniform || code >= law->k) return uniform_category(law, word);
    return law->step != 0 && word <= law->redraw_last ? (uint32_t)quotient(word, law->step, law->step_inverse) : code;
}

/* First stage. Let s be the words of a category (t, or 2^64/k for the uniform table), v(w) = w/s the place of a word, and
 * f = shift the largest with M0 = 2^(64+f)/s < 2^16; multiplier M = floor(M0). For a high word h the words that begin with h
 * are h*2^48 .. (h+1)*2^48 - 1. Then
 *     v(h*2^48) * 2^f = h*M0/2^16 lies in [p, p + 2)      as h*M/2^16 < p + 1 and h*(M0 - M)/2^16 < 1,
 *     v of the last word * 2^f    lies below p + 3        as the block is M0/2^16 < 1 long.
 * So all words of h fall in category p >> f when the fraction p mod 2^f is at most 2^f - 3: 2^f - 2 fractions. The kernel
 * holds fractions at the top of 16 bits, as p * raise mod 2^16 with raise = 2^(16 - f).
 * In the uniform table the boundary of category j stands at j*U + min(j, r), which is j*2^64/k or up to r < k <= 2^10 words
 * later, far less than a block: only p = j*2^f exactly could be misjudged, hence margin = 1 there.
 * f < 2 leaves no fraction to decide by, t = 0 no category: then every h in the zone is pending (margin and
 * decided are 1, raise is 0: the fraction of a cell in the zone is 2^16 - 1, of any other 0). A cell wrongly called pending
 * costs time and never changes the law: its word is looked at whole. */
static void prepare_first_stage(dpf_response_t *law) {
    law->zone_last = law->uniform ? 0xFFFF : (uint16_t)(law->redraw_last >> 48);
    law->margin = law->decided = 1;
    if (!law->uniform && law->step == 0) return;
    for (unsigned shift = 14; shift >= 2; --shift) {
        const dpf_u128 scaled = law->uniform ? (dpf_u128)law->k << shift : ((dpf_u128)1 << (64 + shift)) / law->step;
        if (scaled >= 1u << 16) continue;
        law->shift = (uint16_t)shift;
        law->multiplier = (uint16_t)scaled;
        law->raise = (uint16_t)(1u << (16 - shift));
        const unsigned margin = law->uniform ? 1 : 0;
        law->margin = (uint16_t)(margin * law->raise);
        law->decided = (uint16_t)(((1u << shift) - 2 - margin) * law->raise);
        return;
    }
}

/* Whether the first stage leaves a cell with high word h to the low bits. */
static inline int straddles(const dpf_response_t *law, uint16_t h) {
    const uint16_t place = (uint16_t)((uint32_t)h * law->multiplier >> 16);
    return h <= law->zone_last && (uint16_t)((uint16_t)(place * law->raise) - law->margin) >= law->decided;
}

int dpf_response_prepare(uint32_t k, uint64_t step, int uniform, int accept_unknown, dpf_response_t *law) {
    const dpf_u128 range = (dpf_u128)1 << 64;
    memset(law, 0, sizeof *law);
    if (k == 0 || k > 1u << 31) return DPF_ELAW;
    law->k = k;
    law->uniform = uniform != 0 || k == 1;
    if (!law->uniform && (dpf_u128)k * step > range) return DPF_ELAW;
    law->accept_unknown = accept_unknown != 0;
    if (k >= 2) {
        law->share = (uint64_t)(range / k);
        law->wide = (uint32_t)(range % k);
        law->wide_words = law->wide * (law->share + 1);
        law->share_inverse = UINT64_MAX / law->share;
        law->wide_inverse = UINT64_MAX / (law->share + 1);
    }
    if (!law->uniform && step != 0) {
        law->step = step;
        law->step_inverse = UINT64_MAX / step;
        law->redraw_last = (uint64_t)((dpf_u128)k * step - 1);
    }
    if (k <= DPF_SPLIT_MAX) prepare_first_stage(law);
    return DPF_OK;
}

enum { BLOCK = 64 };

static inline void decide_block(const dpf_response_t *law, const uint64_t *words, const uint32_t *codes, uint32_t *answers,
                                size_t count) {
    for (size_t j = 0; j < count; ++j) answers[j] = decide(law, words[j], codes[j]);
}

#define DPF_LAW dpf_response_t
#define DPF_KERNEL "response.kernel.h"
#define DPF_KERNELS dpf_response
#include "targets.kernel.h"
