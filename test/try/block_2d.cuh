#pragma once
#include <cuda_runtime.h>
#define FETCH_FLOAT4(pointer) (reinterpret_cast<float4*>(&(pointer))[0])

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm_vectorized(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BK * BM];  // transposed
  __shared__ float Bs[BK * BN];
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const int innerRowA = threadIdx.x / (BK / 4), innerColA = threadIdx.x % (BK / 4);
  const int innerRowB = threadIdx.x / (BN / 4), innerColB = threadIdx.x % (BN / 4);
  float threadResults[TM * TN] = {0.0f};
  float regM[TM], regN[TN];
  for (int bk = 0; bk < K; bk += BK) {
    float4 tmp = reinterpret_cast<float4*>(&A[innerRowA * K + innerColA * 4])[0];
    As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;
    As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
    As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
    As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
    FETCH_FLOAT4(Bs[innerRowB * BN + innerColB * 4]) = FETCH_FLOAT4(B[innerRowB * N + innerColB * 4]);
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int dot = 0; dot < BK; ++dot) {
      for (int i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) threadResults[i * TN + j] += regM[i] * regN[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      float4 out = FETCH_FLOAT4(C[(threadRow * TM + i) * N + threadCol * TN + j]);
      out.x = alpha * threadResults[i * TN + j] + beta * out.x;
      out.y = alpha * threadResults[i * TN + j + 1] + beta * out.y;
      out.z = alpha * threadResults[i * TN + j + 2] + beta * out.z;
      out.w = alpha * threadResults[i * TN + j + 3] + beta * out.w;
      FETCH_FLOAT4(C[(threadRow * TM + i) * N + threadCol * TN + j]) = out;
    }
  }
}
