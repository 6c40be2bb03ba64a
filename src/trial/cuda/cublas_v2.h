#pragma once
#include <cuda_runtime.h>
using cublasHandle_t = struct cublasContext*;
using cublasStatus_t = int;
