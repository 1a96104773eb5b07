//===- MinPlus.h - Inner loops over rows of costs ---------------*- C++ -*-===//
//
// Decides how rows of doubles are added and minimised: compiled for several
// widths of vector registers, the widest that the processor has chosen when
// the program starts. Costs may be plus infinity, never NaN.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_MINPLUS_H
#define PPLAN_LIB_PLANNER_MINPLUS_H

#include <cstddef>

namespace pplan {

/// out[i] = min(out[i], c + a[i])
void minPlusRow(double *out, const double *a, double c, size_t n);
/// out[i] = min(out[i], c + a[i] + b[i])
void minPlusRow(double *out, const double *a, const double *b, double c,
                size_t n);
/// out[i] = min(out[i], a[i])
void minRow(double *out, const double *a, size_t n);
/// out[i] += a[i]
void addRow(double *out, const double *a, size_t n);
/// out[i] = c + a[i]
void setRow(double *out, const double *a, double c, size_t n);
/// The least of a[0 .. n); infinity when n is 0.
double minOfRow(const double *a, size_t n);
/// The least of a[i] + b[i]; infinity when n is 0.
double minOfSum(const double *a, const double *b, size_t n);

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_MINPLUS_H
