// Unions of vectors in all the ways that they are declared, and vectors that are constants.
#include <cuda_fp16.h>

typedef float4 Quad;
typedef union {
  float4 vector;
  float element[4];
} Tagless;
union __attribute__((aligned(16))) OfAlias {
  Quad vector;
  float element[4];
};
template <int count>
union Array {
  float4 vector[count / 4];
  float element[count];
};
struct Anonymous {
  union {
    float4 vector;
    float element[4];
  };
  int tag;
  union {
    int2 pair;
    int number[2];
  };
};
union Halves {
  half2 pair[2];
  uint2 words;
  __half element[4];
};
struct Constants {
  static constexpr float2 one = {1, 1};
};
constexpr float4 zeros = {0, 0, 0, 0};

__global__ void rows(const float* A, const float* B, float* C, int M, int N, int K) {
  const int m = blockIdx.y * blockDim.y + threadIdx.y, n = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (m >= M || n >= N) return;
  constexpr float4 start = {0};
  Tagless sum, first;
  first.vector = zeros;
  sum = first;
  for (int k = 0; k < K; ++k) {
    OfAlias b, b_again;
    b.vector = start;
    for (int i = 0; i < 4; ++i)
      if (n + i < N) b.element[i] = B[k * N + n + i];
    b_again = b;
    Array<4> array, array_again;
    array.vector[0] = b_again.vector;
    array_again = array;
    Anonymous in_structure, in_another;
    in_structure.vector = array_again.vector[0];
    in_structure.pair = make_int2(1, 2);
    in_another = in_structure;
    Halves halves;
    halves.pair[0] = halves.pair[1] = __floats2half2_rn(1, 2);
    const float factor = __half2float(halves.element[2]) * Constants::one.x * in_another.number[0];
    for (int i = 0; i < 4; ++i) sum.element[i] += A[m * K + k] * factor * in_another.element[i];
  }
  for (int i = 0; i < 4; ++i)
    if (n + i < N) C[m * N + n + i] = sum.element[i];
}

void run(const float* A, const float* B, float* C, int M, int N, int K) {
  rows<<<dim3((N + 63) / 64, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
