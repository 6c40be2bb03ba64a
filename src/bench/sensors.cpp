#include "bench/sensors.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace lapidary::bench {
namespace {

// The part of NVML's stable interface (nvml.h) that is used here; the CUDA toolkit need not contain that header.
using nvmlDevice_t = struct nvmlDevice_st*;
constexpr int NVML_SUCCESS = 0;
constexpr int NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2;
constexpr int NVML_TEMPERATURE_GPU = 0;
constexpr unsigned NVML_FI_DEV_POWER_INSTANT = 186;

struct nvmlFieldValue_t {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  int valueType, nvmlReturn;
  union {
    double dVal;
    unsigned uiVal;
    unsigned long long ullVal;
  } value;
};
static_assert(sizeof(nvmlFieldValue_t) == 40);

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

}  // namespace

struct Sensors::Nvml {
  std::unique_ptr<void, CloseLibrary> library{dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)};
  int (*init)() = find("nvmlInit_v2");
  int (*shutdown)() = find("nvmlShutdown");
  int (*driver_version)(char*, unsigned) = find("nvmlSystemGetDriverVersion");
  int (*device_by_bus_id)(const char*, nvmlDevice_t*) = find("nvmlDeviceGetHandleByPciBusId_v2");
  int (*clock)(nvmlDevice_t, int, unsigned*) = find("nvmlDeviceGetClockInfo");
  int (*max_clock)(nvmlDevice_t, int, unsigned*) = find("nvmlDeviceGetMaxClockInfo");
  int (*temperature)(nvmlDevice_t, int, unsigned*) = find("nvmlDeviceGetTemperature");
  int (*power)(nvmlDevice_t, unsigned*) = find("nvmlDeviceGetPowerUsage");
  int (*power_limit)(nvmlDevice_t, unsigned*) = find("nvmlDeviceGetEnforcedPowerLimit");
  int (*field_values)(nvmlDevice_t, int, nvmlFieldValue_t*) = find("nvmlDeviceGetFieldValues");
  nvmlDevice_t device = nullptr;  ///< null if nothing can be read

  Nvml() {
    char bus_id[32];
    int current = 0;
    if (!init || !shutdown || !device_by_bus_id || init() != NVML_SUCCESS) {
      shutdown = nullptr;
      return;
    }
    if (cudaGetDevice(&current) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), current) != cudaSuccess ||
        device_by_bus_id(bus_id, &device) != NVML_SUCCESS) {
      device = nullptr;
    }
  }
  ~Nvml() {
    if (shutdown) shutdown();
  }

  /// A function of the library, as a pointer of the type that it is assigned to; null if it is not there.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol find(const char* name) const { return {library ? dlsym(library.get(), name) : nullptr}; }

  /// Milliwatts at this moment; nvmlDeviceGetPowerUsage gives the mean of the last second where it can, which is longer
  /// than what is measured here, and serves GPUs before Ampere.
  bool read_power(unsigned* milliwatts) const {
    nvmlFieldValue_t value{};
    value.fieldId = NVML_FI_DEV_POWER_INSTANT;
    if (field_values && field_values(device, 1, &value) == NVML_SUCCESS && value.nvmlReturn == NVML_SUCCESS) {
      *milliwatts = value.value.uiVal;
      return true;
    }
    return power && power(device, milliwatts) == NVML_SUCCESS;
  }
};

Sensors::Sensors() : nvml_(std::make_unique<Nvml>()) {}
Sensors::~Sensors() = default;

std::optional<CardState> Sensors::read() const {
  const Nvml& n = *nvml_;
  unsigned sm = 0, memory = 0, milliwatts = 0, celsius = 0;
  if (!n.device || !n.clock || !n.temperature || n.clock(n.device, NVML_CLOCK_SM, &sm) != NVML_SUCCESS ||
      n.clock(n.device, NVML_CLOCK_MEM, &memory) != NVML_SUCCESS || !n.read_power(&milliwatts) ||
      n.temperature(n.device, NVML_TEMPERATURE_GPU, &celsius) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return CardState{static_cast<double>(sm), static_cast<double>(memory), milliwatts * 1e-3,
                   static_cast<double>(celsius)};
}

std::optional<std::string> Sensors::driver_version() const {
  char version[96];
  if (!nvml_->shutdown || !nvml_->driver_version || nvml_->driver_version(version, sizeof(version)) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return version;
}

std::optional<int> Sensors::max_sm_clock_mhz() const {
  unsigned mhz = 0;
  if (!nvml_->device || !nvml_->max_clock || nvml_->max_clock(nvml_->device, NVML_CLOCK_SM, &mhz) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return static_cast<int>(mhz);
}

std::optional<double> Sensors::power_limit_w() const {
  unsigned milliwatts = 0;
  if (!nvml_->device || !nvml_->power_limit || nvml_->power_limit(nvml_->device, &milliwatts) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return milliwatts * 1e-3;
}

}  // namespace lapidary::bench
