/* File names by pattern. */
#include "user/lib.h"

/* Does [set] at *pattern have c? *pattern moves behind it. */
static bool set_has(const char **pattern, char c)
{
    const char *s = *pattern + 1;
    bool negated = *s == '!' || *s == '^', has = false;
    s += negated;
    const char *first = s;
    for (; *s && (*s != ']' || s == first); s++) {
        if (s[1] == '-' && s[2] && s[2] != ']') {
            has |= *s <= c && c <= s[2];
            s += 2;
        } else {
            has |= *s == c;
        }
    }
    *pattern = *s ? s + 1 : s;
    return has != negated;
}

/* Does the part of pattern before any * match the start of name? Both move
 * behind it. */
static bool match_plain(const char **pattern, const char **name)
{
    for (; **pattern && **pattern != '*'; ++*name) {
        if (!**name)
            return false;
        if (**pattern == '[') {
            if (!set_has(pattern, **name))
                return false;
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
        /* The first place where the next part fits is as good as any, but
         * the last part must reach the end of the name. */
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

/* Files that match `rest` below the directory `dir`: "", or with a slash at
 * its end. */
static void below(const char *dir, const char *rest,
                  void (*found)(void *, const char *), void *arg)
{
    char part[NAME_BYTES + 1], path[PATH_BYTES];
    size_t n = strcspn(rest, "/");
    if (n >= sizeof part)
        return;
    strlcpy(part, rest, n + 1);
    const char *more = rest + n + strspn(rest + n, "/");
    DIR *d = opendir(*dir ? dir : ".");
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        bool hidden = e->name[0] == '.' && *part != '.';
        if (hidden || !glob_match(part, e->name))
            continue;
        struct stat st;
        snprintf(path, sizeof path, "%s%s%s", dir, e->name, rest[n] ? "/" : "");
        if (*more)
            below(path, more, found, arg);
        else if (lstat(path, &st) == 0)
            found(arg, path);
    }
    closedir(d);
}

void glob(const char *pattern, void (*found)(void *, const char *path),
          void *arg)
{
    size_t root = strspn(pattern, "/");
    below(root ? "/" : "", pattern + root, found, arg);
}
