/* Variables and parameters of the shell. */
#include "user/sh/sh.h"

struct variable {
    struct variable *next;
    char *name, *value;
};

char **params;
int param_count;
static struct variable *variables;

const char *variable_value(const char *name)
{
    for (struct variable *v = variables; v; v = v->next) {
        if (strcmp(v->name, name) == 0)
            return v->value;
    }
    return "";
}

void variable_set(const char *name, const char *value)
{
    struct variable *v = variables;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    if (!v) {
        v = xmalloc(sizeof *v);
        *v = (struct variable){variables, strdup(name), NULL};
        variables = v;
    }
    char *copy = strdup(value); /* before the free: value may be the old text */
    free(v->value);
    v->value = copy;
}

void print_variables(void)
{
    for (struct variable *v = variables; v; v = v->next)
        printf("%s=%s\n", v->name, v->value);
}

size_t name_length(const char *s)
{
    size_t n = 0;
    while (isalnum(s[n]) || s[n] == '_')
        n++;
    return isdigit(*s) ? 0 : n;
}

/* $0 stays. */
void shift_params(int n)
{
    params[n] = params[0];
    params += n;
    param_count -= n;
}
