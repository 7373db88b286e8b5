/* The CBC-MAC blocks of identifiers, which are enciphered into words. The cipher itself is not here. Thread-safe: yes. */
#ifndef DPF_IDS_H
#define DPF_IDS_H

#include "dpf.h"

/* First blocks of integer identifiers: tag | length 8 (3 bytes) | code (4 bytes) | identifier (8 bytes), little-endian.
 * Where is_unsigned is nonzero, identifiers with the top bit set are 2^63 and more and have the tag after `tag`.
 * ids, codes [in] n;   blocks [out] 16 n bytes */
void dpf_id_integer_blocks(const uint64_t *ids, int is_unsigned, uint8_t tag, const uint32_t *codes, size_t n, uint8_t *blocks);

/* First blocks of byte-string identifiers: tag | length (3 bytes) | code (4 bytes) | the first 8 bytes, zero padded.
 * String i is data[offsets[i] .. offsets[i+1]), at most 2^24 - 1 bytes.
 * offsets [in] n + 1;   codes [in] n;   blocks [out] 16 n bytes */
void dpf_id_bytes_first(const uint8_t *data, const int64_t *offsets, uint8_t tag, const uint32_t *codes, size_t n,
                        uint8_t *blocks);

/* Chaining inputs of block number `block` >= 1 (16 bytes of the string from 8 + 16 (block - 1), zero padded, xor state), for
 * those of the listed rows whose string reaches that far.
 * state   [in] 16 bytes a row: the enciphered previous block     active [in] n rows
 * blocks [out] room for 16 n bytes       reached [out] the rows concerned, room for n; may equal active
 * Returns how many rows are concerned. */
size_t dpf_id_bytes_next(const uint8_t *data, const int64_t *offsets, size_t block, const uint8_t *state,
                         const uint32_t *active, size_t n, uint8_t *blocks, uint32_t *reached);

/* state[rows[i]] = blocks[i], 16 bytes each. */
void dpf_blocks_scatter(const uint8_t *blocks, const uint32_t *rows, size_t n, uint8_t *state);

/* words[i] = the first 8 bytes of block i, little-endian. */
void dpf_block_words(const uint8_t *blocks, size_t n, uint64_t *words);

#endif
