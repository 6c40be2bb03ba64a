// CUDA's vectors in a union, in a structure of shared memory and as they are in registers.
#include <cuda_runtime.h>

#define LAYOUT(Name, bytes, alignment) static_assert(sizeof(Name) == bytes && alignof(Name) == alignment)
#define LAYOUTS(name, bytes)             \
  LAYOUT(name##1, bytes, bytes);         \
  LAYOUT(name##2, 2 * bytes, 2 * bytes); \
  LAYOUT(name##3, 3 * bytes, bytes);     \
  LAYOUT(name##4, 4 * bytes, (bytes == 8 ? 16 : 4 * bytes))
LAYOUTS(char, 1);
LAYOUTS(uchar, 1);
LAYOUTS(short, 2);
LAYOUTS(ushort, 2);
LAYOUTS(int, 4);
LAYOUTS(uint, 4);
LAYOUTS(float, 4);
LAYOUTS(long, 8);
LAYOUTS(ulong, 8);
LAYOUTS(longlong, 8);
LAYOUTS(ulonglong, 8);
LAYOUTS(double, 8);

union __align__(16) Four {
  float4 vector;
  float element[4];
};

struct Row {
  Four columns[16];
  float4 spare[1];
};

__global__ void rows(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ Row row;
  const uint3 thread = threadIdx;
  const dim3 block = blockDim, at(blockIdx);
  const int m = at.y * block.y + thread.y, n = 4 * (at.x * block.x + thread.x);
  const float4* const fours = reinterpret_cast<const float4*>(B);
  Four sum = {{0, 0}};
  for (int k = 0; k < K; ++k) {
    if (thread.y == 0) {
      Four next;
      next.vector = n < N ? fours[(k * N + n) / 4] : make_float4(0, 0, 0, 0);
      row.columns[thread.x] = next;
    }
    __syncthreads();
    float b[4];
    *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(row.columns[thread.x].element);
    const float a = m < M ? A[m * K + k] : 0;
    for (int i = 0; i < 4; ++i) sum.element[i] += a * b[i];
    __syncthreads();
  }
  const float4 d = sum.vector;
  if (m < M && n < N) *reinterpret_cast<float4*>(&C[m * N + n]) = {d.x, d.y, d.z, d.w};
}

void run(const float* A, const float* B, float* C, int M, int N, int K) {
  rows<<<dim3((N + 63) / 64, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
