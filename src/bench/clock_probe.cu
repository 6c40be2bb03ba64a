#include <cuda_runtime.h>

#include "bench/clock_probe.hpp"
#include "device/cuda_check.hpp"
#include "ptx/clock.hpp"

namespace lapidary::bench {
namespace {

struct Reading {
  long long cycles = 0, nanoseconds = 0;
};

/// Reads both clocks when it begins, and when it is told of its ticket.
__global__ void watch(const volatile unsigned* told, unsigned ticket, Reading* readings) {
  constexpr long long most_ns = 2'000'000'000;  // whatever becomes of who should tell
  constexpr unsigned asleep_ns = 5000;
  const auto read = [] { return Reading{clock64(), global_nanoseconds()}; };
  const Reading first = read();
  Reading last = first;
  while (*told < ticket && last.nanoseconds - first.nanoseconds < most_ns) {
    __nanosleep(asleep_ns);
    last = read();
  }
  readings[0] = first;
  readings[1] = last;
}

__global__ void tell(volatile unsigned* told, unsigned ticket) { *told = ticket; }

}  // namespace

struct ClockProbe::State {
  State() {
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
    check_cuda(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check_cuda(cudaMalloc(&readings, 2 * sizeof(Reading)), "memory of the clock's probe");
    check_cuda(cudaMalloc(&told, sizeof(unsigned)), "memory of the clock's probe");
    check_cuda(cudaMemset(told, 0, sizeof(unsigned)), "cudaMemset");
  }
  ~State() {
    cudaStreamSynchronize(stream);
    cudaFree(told);
    cudaFree(readings);
    cudaEventDestroy(begin);
    cudaStreamDestroy(stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  cudaStream_t stream = nullptr;  // of the highest priority: the warp takes the first place that is left
  cudaEvent_t begin = nullptr;
  Reading* readings = nullptr;
  unsigned* told = nullptr;  // the last ticket that has ended; it only grows, so a warp that comes late ends at once
  unsigned ticket = 0;
};

ClockProbe::ClockProbe() : state_(std::make_unique<State>()) {}
ClockProbe::~ClockProbe() = default;

void ClockProbe::begin(const Stream& stream) {
  State& s = *state_;
  check_cuda(cudaEventRecord(s.begin, static_cast<cudaStream_t>(stream.cuda)), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(s.stream, s.begin), "cudaStreamWaitEvent");
  watch<<<1, 1, 0, s.stream>>>(s.told, ++s.ticket, s.readings);
  check_cuda(cudaGetLastError(), "the clock's probe");
}

void ClockProbe::end(const Stream& stream) {
  tell<<<1, 1, 0, static_cast<cudaStream_t>(stream.cuda)>>>(state_->told, state_->ticket);
  check_cuda(cudaGetLastError(), "the clock's probe");
}

std::optional<double> ClockProbe::mhz(double milliseconds) {
  Reading readings[2];
  check_cuda(cudaStreamSynchronize(state_->stream), "the clock's probe");
  check_cuda(cudaMemcpy(readings, state_->readings, sizeof(readings), cudaMemcpyDeviceToHost), "the clock's probe");
  const auto nanoseconds = static_cast<double>(readings[1].nanoseconds - readings[0].nanoseconds);
  if (nanoseconds < 0.5e6 * milliseconds) return {};
  return static_cast<double>(readings[1].cycles - readings[0].cycles) / nanoseconds * 1e3;
}

}  // namespace lapidary::bench
