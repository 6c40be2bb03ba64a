"""The kernels of which mutants are made, beside the first one of each rung."""

# By type and tile: rows that do not come out even; operands that are MN-major; several slices of results on their way, and
# rows of A that blocks share; results of 32 bits that are turned back one by one; few columns.
MORE_KERNELS = {
    "shared_tiles": [("f32", "32x32x8")],
    "mma_multistage": [("bf16 CR", "128x256x32"), ("s8/s32 RC", "128x256x64")],
    "wgmma_tma": [("bf16 CR", "128x128x64")],
    "wgmma_staged": [("bf16 RC", "256x128x64")],
    "wgmma_energy": [("bf16", "256x200x64"), ("bf16 RC", "256x192x64")],
    "wgmma_pingpong": [("bf16 RC", "64x208x64")],
    "wgmma_batched": [("bf16 RC", "128x256x64")],
    "wgmma_turned": [("bf16/f32", "72x128x64")],
    "wgmma_skinny": [("bf16 RC", "64x16x64")],
}
