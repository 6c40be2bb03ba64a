#pragma once
// For programs that run kernels: machines, their memory, and what the emulated one counted.
#include "core/error.hpp"        // Error and its kinds
#include "device/device.hpp"     // Device, DeviceBuffer, open_emulator, open_gpu
#include "device/prepared.hpp"   // Prepared, Card
#include "emulator/machine.hpp"  // emulator::Options, emulator::Machine
#include "emulator/report.hpp"   // emulator::Report
