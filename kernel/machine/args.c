/*
 * Boot arguments (args.h).
 *
 * - The text is copied and cut into words once; the strings handed out live
 *   as long as the kernel.
 * - Only the boot on hart 0 reads and writes them, so there is no lock. No call
 *   comes after args_check.
 * - Every mistake in them stops the boot: a machine that runs with other
 *   settings than were asked for is worse than none.
 */
#include "kernel/machine/args.h"

#include "kernel/machine/fdt.h"

#define MAX_ARGS 64

struct arg {
    const char *name, *value;
    bool asked; /* some layer knows it */
};

static char words[sizeof(machine.bootargs)];
static struct arg args[MAX_ARGS];
static u32 nargs;

/* Print why the machine cannot boot with these arguments, and switch it off. */
void boot_fail(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    kprintf("boot: ");
    kvprintf(fmt, list);
    kprintf("\n");
    va_end(list);
    power_off(STATUS_BOOT_FAIL);
}

/* Return the argument with this name, or NULL. */
static struct arg *find(const char *name)
{
    for (u32 i = 0; i < nargs; i++)
        if (strcmp(args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

/* Add one word of the form name=value. It is cut at the `=`. */
static void add(char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        boot_fail("argument %s: not of the form name=value", word);
    *equals = 0;
    if (find(word))
        boot_fail("argument %s: given twice", word);
    if (nargs == MAX_ARGS)
        boot_fail("argument %s: more than %d arguments", word, MAX_ARGS);
    args[nargs++] = (struct arg){.name = word, .value = equals + 1};
}

/* Copy the text and cut it into arguments. A mistake ends the boot. */
void args_init(const char *text)
{
    if (strlcpy(words, text, sizeof(words)) >= sizeof(words))
        boot_fail("arguments: longer than %zu bytes", sizeof(words) - 1);
    for (char *word = words, *end; word; word = end) {
        end = strchr(word, ' ');
        if (end)
            *end++ = 0;
        if (*word)
            add(word);
    }
}

/* Return the value of an argument, or NULL. It counts as asked for. */
const char *arg_text(const char *name)
{
    struct arg *arg = find(name);
    if (!arg)
        return NULL;
    arg->asked = true;
    return arg->value;
}

/* Return an argument's number, or def if it is not given. A bad one ends the
 * boot. */
u64 arg_number(const char *name, u64 def, u64 min, u64 max)
{
    const char *text = arg_text(name);
    u64 value = def;
    if (!text)
        return def;
    if (!parse_u64(text, &value))
        boot_fail("argument %s=%s: not a number", name, text);
    if (value < min || value > max)
        boot_fail("argument %s=%s: not in %lu to %lu", name, text, min, max);
    return value;
}

/* Return the IPv4 address that the text is; 0: it is none. */
static u32 address_of(const char *text)
{
    u32 host = 0;
    for (u32 i = 0; i < 4; i++) {
        u64 part = 0;
        if (i && *text++ != '.')
            return 0;
        const char *digits = text;
        while (*text >= '0' && *text <= '9' && part < 256)
            part = part * 10 + (u64)(*text++ - '0');
        if (text == digits || part > 255)
            return 0;
        host = host << 8 | part;
    }
    return *text ? 0 : host;
}

/* Return an argument's IPv4 address. It must be given, and be that of a
 * host. */
u32 arg_host(const char *name)
{
    const char *text = arg_text(name);
    u32 host = address_of(text);
    if (host == 0 || host == UINT32_MAX)
        boot_fail("argument %s=%s: not an address such as 10.0.0.1", name,
                  text);
    return host;
}

/* Show fn each argument that nobody has asked for. It returns true for those
 * that it takes. */
void args_each(bool (*fn)(const char *name, const char *value))
{
    for (u32 i = 0; i < nargs; i++)
        if (!args[i].asked && fn(args[i].name, args[i].value))
            args[i].asked = true;
}

/* Refuse to boot if an argument was asked for by nobody. */
void args_check(void)
{
    for (u32 i = 0; i < nargs; i++)
        if (!args[i].asked)
            boot_fail("argument %s: unknown", args[i].name);
}
