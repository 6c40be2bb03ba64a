"""D = A * B from Python, by ctypes alone: on the GPU if there is one that kernels run on, on the emulated machine
otherwise.

  python3 gemm.py [PATH OF liblapidary.so]
"""
import ctypes
import sys

M, N, K = 2, 3, 4
GPU, EMULATED, F32 = 0, 1, 0


class Matrix(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int)] + [
        (name, ctypes.c_int64) for name in ("rows", "cols", "row_stride", "col_stride", "count", "batch_stride")
    ]


lapidary = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "liblapidary.so.0")
lapidary.lapidary_last_error.restype = ctypes.c_char_p
lapidary.lapidary_gemm.argtypes = (
    [ctypes.c_void_p] * 2 + [ctypes.c_float] + [ctypes.c_void_p] * 2 + [ctypes.c_float] + [ctypes.c_void_p] * 3
)
for name, count in (("upload", 3), ("download", 3)):
    getattr(lapidary, f"lapidary_{name}").argtypes = [ctypes.c_void_p] * count + [ctypes.c_size_t]
lapidary.lapidary_allocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
lapidary.lapidary_destroy.argtypes = [ctypes.c_void_p]


def check(status):
    if status != 0:
        sys.exit(f"lapidary: {lapidary.lapidary_last_error().decode()}")


context = ctypes.c_void_p()
if lapidary.lapidary_create(GPU, ctypes.byref(context)) != 0:
    check(lapidary.lapidary_create(EMULATED, ctypes.byref(context)))


def matrix(rows, cols, values=None):
    data = ctypes.c_void_p()
    check(lapidary.lapidary_allocate(context, rows * cols * 4, ctypes.byref(data)))
    if values:
        check(lapidary.lapidary_upload(context, data, (ctypes.c_float * len(values))(*values), rows * cols * 4))
    return Matrix(data.value, F32, rows, cols, cols, 1, 1, 0)


A = matrix(M, K, [1, 2, 3, 4, 5, 6, 7, 8])
B = matrix(K, N, [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1])
D = matrix(M, N)
check(lapidary.lapidary_gemm(context, None, 1, ctypes.byref(A), ctypes.byref(B), 0, None, ctypes.byref(D), None))
results = (ctypes.c_float * (M * N))()
check(lapidary.lapidary_download(context, results, D.data, M * N * 4))
for row in range(M):
    print(*(f"{value:g}" for value in results[row * N : (row + 1) * N]))
lapidary.lapidary_destroy(context)
