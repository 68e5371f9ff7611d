/* Units of time, and the values that stand for "without end". */
#pragma once

#define NS_PER_US 1000UL
#define NS_PER_MS 1000000UL
#define NS_PER_S  1000000000UL

#define NEVER_NS  (~0UL) /* a time that does not come */
#define UNLIMITED (~0UL) /* a count without a limit */
