/*
 * Included before every file of the replayer and of the twin's kernel. They
 * have one hart and one thread, so an atomic operation is a plain one, and
 * needs no lock of the bus.
 */
#ifndef SLUICE_ONE_HART_H
#define SLUICE_ONE_HART_H

#define __atomic_fetch_add(at, n, order) \
    ({                                   \
        __typeof__(*(at)) was_ = *(at);  \
        *(at) = was_ + (n);              \
        was_;                            \
    })
#define __atomic_exchange_n(at, value, order) \
    ({                                        \
        __typeof__(*(at)) was_ = *(at);       \
        *(at) = (value);                      \
        was_;                                 \
    })
#define __atomic_store_n(at, value, order) ((void)(*(at) = (value)))
#define __atomic_load_n(at, order)         (*(at))

#endif
