/*
 * Address spaces: Sv39 page tables (RISC-V Privileged Architecture 1.12,
 * section 4.4).
 *
 *   0                 USER_BASE    unmapped: null pointers fault
 *   USER_BASE         brk          program, then heap (lazily zero)
 *   USER_STACK_LOW    USER_TOP     stack (lazily zero)
 *   KSTACK_BASE       ..           kernel stacks, a guard page below each
 *   DIRECT_MAP        ..           all physical memory and devices
 *
 * - The kernel's half is the same in every address space: entering the
 *   kernel changes no page table.
 * - After fork, both share writable pages read-only (PTE_COW) until one
 *   writes.
 */
#pragma once

#include "kernel/machine/mem.h"

#define USER_BASE        0x10000UL
#define USER_TOP         0x3ffffff000UL
#define USER_STACK_BYTES (8UL << 20)
#define USER_STACK_LOW   (USER_TOP - USER_STACK_BYTES)

#define PTE_V   0x001UL
#define PTE_R   0x002UL
#define PTE_W   0x004UL
#define PTE_X   0x008UL
#define PTE_U   0x010UL
#define PTE_G   0x020UL
#define PTE_A   0x040UL
#define PTE_D   0x080UL
#define PTE_COW 0x100UL /* software: writable once copied */

void vm_init(void); /* make the kernel's own table; use it on this hart */
void vm_map_kernel(u64 va, void *page); /* a page of a kernel stack */

u64 *vm_create(void);            /* an empty user half; NULL: no memory */
void vm_empty(u64 *pagetable);   /* free all user pages; still usable */
void vm_destroy(u64 *pagetable); /* empty and free; in use nowhere */
/* Share all pages, copy on write. The page at hot_va, which both processes are
 * about to write, is copied now. 0 or -ENOMEM. */
int vm_fork(u64 *from, u64 *to, u64 hot_va);
/* Add a new user page; zero: of zeros. NULL: no memory. */
void *vm_add(u64 *pagetable, u64 va, u64 perm, bool zero);
void vm_unmap(u64 *pagetable, u64 from, u64 to); /* and free */
void vm_use(u64 *pagetable); /* switch; NULL: the kernel's own */
void vm_fence(void);         /* before user mode: the fence that is due */

/*
 * Make va's page present in the current process, and writable if `write`: zero
 * heap and stack pages, copy shared ones. The kernel address of the byte; NULL
 * if va is not the process's, or no memory is left.
 */
void *vm_fault(u64 va, bool write);

/* Handle a page fault of user mode, by an access that needs this permission
 * (PTE_R, PTE_W or PTE_X). False: the process may not access va so. */
bool vm_trap(u64 va, u64 access);

/* Copies to and from the current process's memory. 0 or -EFAULT. */
int copyin(void *to, u64 from_user, u64 n);
int copyout(u64 to_user, const void *from, u64 n);
/* A string with its final 0: its length, -EFAULT or -ENAMETOOLONG. */
int copyinstr(char *to, u64 from_user, u64 n);
