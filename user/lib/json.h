/* Text as JSON, for the lines `PROGRAM {JSON}` that the host reads. */
#ifndef SLUICE_USER_JSON_H
#define SLUICE_USER_JSON_H

/* A string with its quotes. */
void json_print_string(const char *);

#endif
