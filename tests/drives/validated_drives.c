/*
 * Rows of drives that are here to check the model alone: each was measured, and
 * its figures and the trace of its service times are in DiskSim 4.0's
 * validation set (in valid/: diskspecs, model, seek). drive_replay_tool knows
 * them beside the kernel's rows; no kernel has them.
 */
#include "tests/drives/validated_drives.h"

/* valid/hp_c3323a_validate.seek, measured. */
static const struct seek_point c3323a_seeks[] = {
    {1, 1178043},     {2, 1612114},     {3, 1799980},     {4, 1973653},
    {5, 1738735},     {6, 1920348},     {7, 1841717},     {8, 2402852},
    {9, 2680676},     {10, 2758466},    {12, 2613908},    {14, 2730827},
    {16, 2827732},    {18, 2909984},    {20, 3007988},    {25, 3026374},
    {30, 3212906},    {35, 3399405},    {40, 3491967},    {45, 3522344},
    {50, 3676197},    {60, 3854444},    {70, 4038595},    {80, 4147715},
    {90, 4258138},    {100, 4392624},   {125, 4689170},   {150, 4974255},
    {175, 5221190},   {200, 5476523},   {225, 5680439},   {250, 5896359},
    {275, 6107165},   {300, 6276703},   {325, 6439122},   {350, 6632628},
    {375, 6757570},   {400, 6949064},   {425, 7086480},   {450, 7222602},
    {475, 7374090},   {500, 7532715},   {600, 8189839},   {700, 8641234},
    {800, 9080836},   {900, 9515070},   {1000, 9951674},  {1100, 10372177},
    {1200, 10764751}, {1300, 11174420}, {1400, 11578927}, {1500, 12029606},
    {1600, 12463660}, {1700, 12890826}, {1800, 13293945}, {1900, 13686733},
    {2000, 14104737}, {2100, 14549059}, {2200, 14907508}, {2300, 15327747},
    {2400, 15771487}, {2500, 16194195}, {2600, 16586342}, {2700, 16991021},
    {2800, 17410329}, {2900, 17812240}, {2976, 18116135}, {},
};

static const struct drive_model rows[] = {
    {
        .name = "hp_c3323a",
        .about = "HP C3323A: 1.05 GB, 5,396 rpm, as DiskSim validated it",
        .modelled = true,
        .sectors = 2056008,
        .rpm = 5396,
        .heads = 7,
        .zones =
            (const struct zone[]){
                {0, 993, 120, 17, 34},
                {994, 1134, 116, 16, 33},
                {1135, 1310, 112, 16, 32},
                {1311, 1625, 104, 15, 30},
                {1626, 1966, 96, 14, 27},
                {1967, 2255, 88, 13, 25},
                {2256, 2608, 80, 12, 23},
                {2609, 2981, 72, 11, 21},
                {},
            },
        /* Spare tracks are at the end of each zone. */
        .gaps =
            (const struct zone_gaps[]){
                {0, 1320, 224 * 120, NULL},
                {48, 0, 35 * 116, NULL},
                {23, 0, 28 * 112, NULL},
                {47, 0, 49 * 104, NULL},
                {48, 0, 49 * 96, NULL},
                {72, 0, 35 * 88, NULL},
                {48, 0, 35 * 80, NULL},
                {64, 0, 35 * 72, NULL},
            },
        .seek = {.table = c3323a_seeks,
                 .knee_cyls = 1,
                 .c_ns = 2300000,
                 .e_ns = 5315}, /* beyond the table */
        .head_switch_ns = 650000,
        .write_settle_ns = 70000,
        .read_hit_ns = {348000, 1387000},
        .read_miss_ns = {2502000, 2502000},
        .write_hit_ns = {3290000, 2920000},
        .write_miss_ns = {3290000, 2920000},
        .bus_ns =
            145000, /* derived: from the trace's hits of 1 to 47 sectors */
        .done_ns = {241000, 0},
        .read_mark_percent = 100,
        .depth = 1,
        .segments = 2,
        .segment_sectors = 512,
        .read_ahead_sectors = 256,
    },
};

const struct drive_model *validated_drive(const char *name)
{
    for (u32 i = 0; i < NELEM(rows); i++) {
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}
