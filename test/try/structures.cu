// Matrices as structures with their sizes, and tiles by a device function.
#include <cuda_runtime.h>

typedef struct {
  int width, height;
  int stride;
  float* elements;
} Matrix;

#define BLOCK 16

__device__ float* tile_of(const Matrix m, int row, int col) {
  return &m.elements[m.stride * BLOCK * row + BLOCK * col];
}

__global__ void MatMul(Matrix A, Matrix B, const Matrix C) {
  __shared__ float As[BLOCK][BLOCK];
  __shared__ float Bs[BLOCK][BLOCK];
  float sum = 0;
  for (int t = 0; t < A.width / BLOCK; ++t) {
    const float *a = tile_of(A, blockIdx.y, t), *b = tile_of(B, t, blockIdx.x);
    As[threadIdx.y][threadIdx.x] = a[threadIdx.y * A.stride + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = b[threadIdx.y * B.stride + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < BLOCK; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  tile_of(C, blockIdx.y, blockIdx.x)[threadIdx.y * C.stride + threadIdx.x] = sum;
}

void multiply(const Matrix A, const Matrix B, Matrix C) {
  Matrix d_A, d_B, d_C;
  d_A.width = d_A.stride = A.width;
  cudaMalloc(&d_A.elements, A.width * A.height * sizeof(float));
  dim3 dimBlock(BLOCK, BLOCK);
  dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
  MatMul<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
}
