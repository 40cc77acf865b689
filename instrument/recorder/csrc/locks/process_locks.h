/* Locks and semaphores that processes share: `_multiprocessing.SemLock`, on which all of multiprocessing's primitives are built.
 *
 * Nobody in this process sees who acquires such a lock elsewhere, so a HOLD tells each acquire, and a RETURN each release. The
 * RETURN precedes the release and the HOLD follows the acquire: no two of them overlap, whatever the processes do at one time.
 * A WAIT is recorded only when the lock was found taken.
 *
 * Invariants: a lock is known by a key that is the same in each process that has it. A lock whose key is not known, and one that
 * is a part of a queue, leaves no HOLD. Each method behaves as the original. */
#ifndef CLEW_LOCKS_PROCESS_LOCKS_H
#define CLEW_LOCKS_PROCESS_LOCKS_H

#include "core.h"

/* trace_process_locks(type, acquire site, release site). Raises if the type's methods are not those that are known. */
PyObject *core_trace_process_locks(PyObject *module, PyObject *arguments);

/* share_lock(lock, key, channel, capacity, held, recursive): `held` is whether acquires are recorded, or only waits; `recursive`
 * is whether its owner may acquire it again. The capacity is 0 for a lock. */
PyObject *core_share_lock(PyObject *module, PyObject *arguments);

/* shared_key(lock): 0 when it is not known. */
PyObject *core_shared_key(PyObject *module, PyObject *lock);

#endif
