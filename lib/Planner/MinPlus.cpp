//===- MinPlus.cpp - Inner loops over rows of costs -----------------------===//
//
// Decides how the compiler gets to vectorise the min-plus loops: plain loops
// for the element-wise ones, and eight independent minima for the reductions,
// which it may not reorder by itself.
//
//===----------------------------------------------------------------------===//
#include "MinPlus.h"
#include <limits>

// Function multiversioning needs the dynamic linker's help, which runs before
// a sanitizer's runtime is ready.
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__x86_64__) && defined(__linux__) &&                               \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) &&   \
    !__has_feature(memory_sanitizer) && !defined(__SANITIZE_ADDRESS__) &&      \
    !defined(__SANITIZE_THREAD__)
#define PPLAN_MULTIVERSION                                                     \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PPLAN_MULTIVERSION
#endif

using namespace pplan;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

PPLAN_MULTIVERSION
void pplan::minPlusRow(double *__restrict out, const double *__restrict a,
                       double c, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double v = c + a[i];
    out[i] = v < out[i] ? v : out[i];
  }
}

PPLAN_MULTIVERSION
void pplan::minPlusRow(double *__restrict out, const double *__restrict a,
                       const double *__restrict b, double c, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double v = c + a[i] + b[i];
    out[i] = v < out[i] ? v : out[i];
  }
}

PPLAN_MULTIVERSION
void pplan::minRow(double *__restrict out, const double *__restrict a,
                   size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = a[i] < out[i] ? a[i] : out[i];
}

PPLAN_MULTIVERSION
void pplan::addRow(double *__restrict out, const double *__restrict a,
                   size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] += a[i];
}

PPLAN_MULTIVERSION
void pplan::setRow(double *__restrict out, const double *__restrict a, double c,
                   size_t n) {
  for (size_t i = 0; i < n; ++i)
    out[i] = c + a[i];
}

static double foldLanes(const double *lanes) {
  double least = kInfinity;
  for (int k = 0; k < 8; ++k)
    least = lanes[k] < least ? lanes[k] : least;
  return least;
}

PPLAN_MULTIVERSION
double pplan::minOfRow(const double *a, size_t n) {
  double lanes[8];
  for (double &lane : lanes)
    lane = kInfinity;
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; ++k)
      lanes[k] = a[i + k] < lanes[k] ? a[i + k] : lanes[k];
  for (; i < n; ++i)
    lanes[0] = a[i] < lanes[0] ? a[i] : lanes[0];
  return foldLanes(lanes);
}

PPLAN_MULTIVERSION
double pplan::minOfSum(const double *a, const double *b, size_t n) {
  double lanes[8];
  for (double &lane : lanes)
    lane = kInfinity;
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; ++k) {
      double v = a[i + k] + b[i + k];
      lanes[k] = v < lanes[k] ? v : lanes[k];
    }
  for (; i < n; ++i) {
    double v = a[i] + b[i];
    lanes[0] = v < lanes[0] ? v : lanes[0];
  }
  return foldLanes(lanes);
}
