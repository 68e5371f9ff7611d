/* The port mapper, version 2 (RFC 1833, section 3). Nothing can be registered:
 * it only says which programs are served here, by UDP. The answer does not
 * depend on the version, as some clients ask for MOUNT 1 and then call
 * version 3. */
#include "kernel/nfs/internal.h"

/* GETPORT: the port of a program, 0 if it is not served by UDP. */
static int getport(struct call *c)
{
    u32 program = xdr_u32(&c->in), port = 0;
    xdr_u32(&c->in); /* version */
    bool udp = xdr_u32(&c->in) == MAP_UDP;
    for (u32 i = 0; i < PROGRAMS; i++)
        if (udp && __start_programs[i]->number == program)
            port = __start_programs[i]->port;
    xdr_u32(&c->in); /* port */
    xdr_put(&c->out, port);
    return 0;
}

/* DUMP: all programs. */
static int dump(struct call *c)
{
    for (u32 i = 0; i < PROGRAMS; i++) {
        xdr_put(&c->out, true);
        xdr_put(&c->out, __start_programs[i]->number);
        xdr_put(&c->out, __start_programs[i]->version);
        xdr_put(&c->out, MAP_UDP);
        xdr_put(&c->out, __start_programs[i]->port);
    }
    xdr_put(&c->out, false);
    return 0;
}

static const struct procedure procedures[] = {
    [0] = {serve_null, .no_status = true},
    [3] = {getport, .no_status = true},
    [4] = {dump, .no_status = true},
};

static const struct program portmap_program = {PORTMAP_PROGRAM, 2, PORTMAP_PORT,
                                               procedures, NELEM(procedures)};
PROGRAM(portmap_program);
