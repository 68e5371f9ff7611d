/* The system calls about sockets. Each checks what it was given and makes one
 * call of file or net. */
#include "kernel/file/file.h"
#include "kernel/net/net.h"
#include "kernel/nfs/nfs.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/vm.h"
#include "kernel/syscall/syscall.h"

/* socket(kind, port): return a descriptor. */
i64 sys_socket(const u64 *arg)
{
    struct file **fds = myproc()->fds;
    i64 fd = 0;
    while (fd < MAX_FDS && fds[fd])
        fd++;
    return fd == MAX_FDS ? -EMFILE
                         : file_open_socket(arg[0], arg[1], &fds[fd]) ?: fd;
}

/* Find the socket of a descriptor, and check that the number of bytes is not
 * negative. */
static int socket_of(u64 fd, u64 bytes, struct socket **s)
{
    struct file *f = fd < MAX_FDS ? myproc()->fds[fd] : NULL;
    *s = f ? f->socket : NULL;
    if (!f)
        return -EBADF;
    return *s && (i64)bytes >= 0 ? 0 : -EINVAL;
}

/* sendto(fd, data, n, address). */
i64 sys_sendto(const u64 *arg)
{
    struct socket *s;
    struct net_address to;
    struct uio u = {arg[1], arg[2], 0, true, true};
    TRY(socket_of(arg[0], arg[2], &s) ?: copyin(&to, arg[3], sizeof to));
    return to.port > UINT16_MAX ? -EINVAL : socket_send(s, to, &u);
}

/* recvfrom(fd, data, n, address, timeout_ns): return the number of bytes.
 * Timeout 0 is none. */
i64 sys_recvfrom(const u64 *arg)
{
    struct socket *s;
    struct net_address from;
    struct uio u = {arg[1], arg[2], 0, true, false};
    TRY(socket_of(arg[0], arg[2], &s) ?: (i64)arg[4] < 0 ? -EINVAL : 0);
    i64 n = socket_receive(s, &from, &u, arg[4] ? clock_ns() + arg[4] : 0);
    return n >= 0 && copyout(arg[3], &from, sizeof from) ? -EFAULT : n;
}

/* nfssvc(fd, path): serve this directory on this socket, in the calling
 * process. */
i64 sys_nfssvc(const u64 *arg)
{
    struct socket *s;
    PAGE_OWNED char *path = NULL;
    return socket_of(arg[0], 0, &s) ?: user_paths(arg + 1, 1, &path)
                              ?: nfs_serve(s, path);
}
