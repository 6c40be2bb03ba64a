// Sizes as constants of the file, a name for the type, and a grid from the block's extents.
#include <cuda_runtime.h>
#include <cstdio>
#define WIDTH (1 << 10)
typedef float real;
const int SIDE = 16, GROUPS = 2;

__global__ void multiply(const real* a, const real* b, real* c) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  real sum = 0;
  for (int k = 0; k < WIDTH; k++) sum += a[row * WIDTH + k] * b[k * WIDTH + col];
  c[row * WIDTH + col] = sum;
}

int main() {
  real *a, *b, *c;
  cudaMalloc(&a, WIDTH * WIDTH * sizeof(real));
  dim3 const block{SIDE, SIDE / GROUPS}, grid{static_cast<unsigned>(WIDTH) / block.x, WIDTH / block.y, 1U};
  multiply<<<grid, block>>>(a, b, c);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
