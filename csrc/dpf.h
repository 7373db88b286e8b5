/* What every file of the core includes: status codes and the integer types. The core knows no Python. */
#ifndef DPF_H
#define DPF_H

#include <stddef.h>
#include <stdint.h>

enum {
    DPF_OK = 0,
    DPF_EDOMAIN = -1,  /* a code outside the domain, where such codes are not accepted */
    DPF_ECORRUPT = -2, /* a dictionary index outside its dictionary */
    DPF_EISA = -3,     /* a SIMD target that does not exist or that this processor lacks */
    DPF_ELAW = -4      /* integers that are not a law */
};

#endif
