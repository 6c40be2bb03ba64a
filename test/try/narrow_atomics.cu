// Sums of numbers of 16 bits and of pairs of them, by atomics in shared and in global memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cassert>

template <class T>
__device__ T total;
template <class Pair>
__device__ Pair totals;

/// In one block: of as many threads as there are whole numbers that any of these types has.
template <class T, class Pair>
__global__ void added(const T* A, const T* B, T* C, int M, int N, int K) {
  __shared__ T one;
  __shared__ Pair pair;
  const int row = threadIdx.y, col = threadIdx.x;
  if (row == 0 && col == 0) {
    one = total<T> = T(0.0f);
    pair = Pair(T(0.0f), T(512.0f));
    totals<Pair> = Pair(T(0.0f), T(256.0f));
  }
  __syncthreads();
  const float before = atomicAdd(&one, T(1.0f));
  assert(before >= 0 && before < 256);
  atomicAdd(&total<T>, T(-0.5f));
  atomicAdd(&pair, Pair(T(1.0f), T(-2.0f)));
  const Pair old = atomicAdd(&totals<Pair>, Pair(T(0.25f), T(-1.0f)));
  assert(float(old.y) == 256 - 4 * float(old.x));
  __syncthreads();
  assert(float(one) == 256 && float(pair.x) == 256 && float(pair.y) == 0);
  assert(float(total<T>) == -128 && float(totals<Pair>.x) == 64 && float(totals<Pair>.y) == 0);
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += float(A[row * K + k]) * float(B[k * N + col]);
  C[row * N + col] = T(sum);
}
