// A whole program: tiles of 32 x 32 in static shared memory, with bounds checks.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TILE 32
#define CUDA_CHECK(call)           \
  do {                             \
    cudaError_t e = (call);        \
    if (e != cudaSuccess) exit(1); \
  } while (0)

__global__ void matmul(const float* A, const float* B, float* C, int width) {
  __shared__ float As[TILE][TILE], Bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int t = 0; t < (width + TILE - 1) / TILE; ++t) {
    As[ty][tx] = row < width && t * TILE + tx < width ? A[row * width + t * TILE + tx] : 0.0f;
    Bs[ty][tx] = col < width && t * TILE + ty < width ? B[(t * TILE + ty) * width + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  if (row < width && col < width) C[row * width + col] = sum;
}

int main(int argc, char** argv) {
  int size = 1024;
  float *dA, *dB, *dC;
  std::vector<float> hA(size * size);
  cublasHandle_t handle;
  CUDA_CHECK(cudaMalloc(&dA, size * size * sizeof(float)));
  dim3 block(TILE, TILE);
  dim3 grid((size + block.x - 1) / TILE, (size + TILE - 1) / TILE);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  matmul<<<dim3((size + TILE - 1) / TILE, (size + TILE - 1) / TILE), block, 0, stream>>>(dA, dB, dC, size);
  CUDA_CHECK(cudaGetLastError());
  printf("done\n");
  return 0;
}
