/* Counter blocks of the row planes, which are enciphered into words. The cipher itself is not here. Thread-safe: yes. */
#ifndef DPF_WORDS_H
#define DPF_WORDS_H

#include "dpf.h"

/* Counter blocks plane (8 bytes, big-endian) | first + rows[i] (8 bytes, big-endian).
 * rows [in] n;   blocks [out] 16 n bytes */
void dpf_counter_blocks(uint64_t plane, uint64_t first, const uint32_t *rows, size_t n, uint8_t *blocks);

/* The same for n rows from `first` on.   blocks [out] 16 n bytes */
void dpf_row_blocks(uint64_t plane, uint64_t first, size_t n, uint8_t *blocks);

/* words[i] = high[i] in the 16 high bits, and in the 48 low ones the first 6 bytes of block i, little-endian. */
void dpf_join_words(const uint16_t *high, const uint8_t *blocks, size_t n, uint64_t *words);

#endif
