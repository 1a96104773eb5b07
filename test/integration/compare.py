#!/usr/bin/env python3
"""Compares the .npy files of two directories by name.

The error of a tensor is the largest difference of two elements, relative to the largest magnitude in the expected tensor.
Usage: compare.py EXPECTED-DIR ACTUAL-DIR [--tolerance 1e-4]"""
import argparse
import pathlib
import sys

import numpy as np


def tensor_error(expected, actual):
    """The relative error, or a text that says why the two cannot be compared."""
    if expected.shape != actual.shape:
        return f"has shape {list(actual.shape)}, expected {list(expected.shape)}"
    if expected.dtype != actual.dtype:
        return f"has type {actual.dtype}, expected {expected.dtype}"
    if not np.array_equal(np.isnan(expected), np.isnan(actual)):
        return "has NaN where none is expected, or the other way round"
    if expected.size == 0:
        return 0.0
    expected, actual = np.nan_to_num(expected.astype(np.float64)), np.nan_to_num(actual.astype(np.float64))
    difference, scale = float(np.max(np.abs(expected - actual))), float(np.max(np.abs(expected)))
    return difference if scale == 0 else difference / scale


def compare(expected_dir, actual_dir):
    """(largest relative error, list of complaints) over all expected tensors."""
    worst, complaints = 0.0, []
    files = sorted(pathlib.Path(expected_dir).glob("*.npy"))
    if not files:
        complaints.append(f"{expected_dir} has no .npy files")
    for file in files:
        other = pathlib.Path(actual_dir) / file.name
        if not other.exists():
            complaints.append(f"{file.stem} is missing in {actual_dir}")
            continue
        error = tensor_error(np.load(file), np.load(other))
        if isinstance(error, str):
            complaints.append(f"{file.stem} {error}")
        else:
            worst = max(worst, error)
    return worst, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("expected")
    parser.add_argument("actual")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    args = parser.parse_args()
    worst, complaints = compare(args.expected, args.actual)
    for complaint in complaints:
        print(complaint)
    print(f"largest error relative to the output's largest magnitude: {worst:.2e} (tolerance {args.tolerance:.0e})")
    return 0 if not complaints and worst <= args.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
