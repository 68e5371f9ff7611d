/* File names by pattern. */
#include "user/lib.h"

/* Return the ] of the set whose [ is at s, or NULL if there is none. Then the [
 * is an ordinary character. */
static const char *set_end(const char *s)
{
    s++;
    s += *s == '!' || *s == '^';
    s += *s == ']'; /* a ] that comes first is a member */
    while (*s && *s != ']')
        s += *s == '\\' && s[1] ? 2 : 1;
    return *s ? s : NULL;
}

/* True if the set from [ to ] has c. */
static bool set_has(const char *s, const char *end, char c)
{
    bool negated = s[1] == '!' || s[1] == '^', has = false;
    for (s += 1 + negated; s < end; s++) {
        s += *s == '\\' && s + 1 < end;
        if (s + 2 < end && s[1] == '-') {
            const char *high = s + 2 + (s[2] == '\\' && s + 3 < end);
            has |= (u8)*s <= (u8)c && (u8)c <= (u8)*high;
            s = high;
        } else {
            has |= *s == c;
        }
    }
    return has != negated;
}

/* True if the part of pattern before any * matches the start of name. Then both
 * are moved past it. */
static bool match_plain(const char **pattern, const char **name)
{
    for (; **pattern && **pattern != '*'; ++*name) {
        if (!**name)
            return false;
        const char *end = **pattern == '[' ? set_end(*pattern) : NULL;
        if (end) {
            if (!set_has(*pattern, end, **name))
                return false;
            *pattern = end + 1;
            continue;
        }
        bool any = **pattern == '?';
        *pattern += **pattern == '\\' && (*pattern)[1];
        if (!any && **pattern != **name)
            return false;
        ++*pattern;
    }
    return true;
}

static bool glob_match(const char *pattern, const char *name)
{
    if (!match_plain(&pattern, &name))
        return false;
    while (*pattern) {
        pattern += strspn(pattern, "*");
        if (!*pattern)
            return true;
        /* The first place where the next part matches is as good as any
         * other, except that the last part must end where the name ends. */
        const char *rest, *n;
        do {
            if (!*name)
                return false;
            rest = pattern;
            n = name++;
        } while (!match_plain(&rest, &n) || (!*rest && *n));
        pattern = rest;
        name = n;
    }
    return !*name;
}

/* Return the names in a directory that match the first n bytes of a pattern, in
 * the form of read_names(). */
static char **matches(const char *dir, const char *pattern, size_t n)
{
    char part[2 * NAME_BYTES + 1]; /* each byte may have a backslash */
    if (n >= sizeof part)
        return NULL;
    strlcpy(part, pattern, n + 1);
    char **names = read_names(dir), **kept = names;
    for (char **name = names; name && *name; name++) {
        bool hidden = **name == '.' && *part != '.';
        if (hidden || !glob_match(part, *name))
            free(*name);
        else
            *kept++ = *name;
    }
    if (names)
        *kept = NULL;
    return names;
}

/* Report the files that match `rest` below the directory `dir`, which is "" or
 * ends in a slash. */
static void below(const char *dir, const char *rest,
                  void (*found)(void *, const char *), void *arg)
{
    size_t n = strcspn(rest, "/");
    const char *more = rest + n + strspn(rest + n, "/");
    char **names = matches(*dir ? dir : ".", rest, n);
    if (!names)
        return;
    size_t room = strlen(dir) + NAME_BYTES + 2;
    char *path = xmalloc(room);
    for (char **name = names; *name; name++) {
        struct stat st;
        snprintf(path, room, "%s%s%s", dir, *name, rest[n] ? "/" : "");
        if (*more)
            below(path, more, found, arg);
        else if (lstat(path, &st) == 0)
            found(arg, path);
    }
    free(path);
    free_names(names);
}

void glob(const char *pattern, void (*found)(void *, const char *path),
          void *arg)
{
    size_t root = strspn(pattern, "/");
    below(root ? "/" : "", pattern + root, found, arg);
}
