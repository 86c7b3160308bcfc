import { builtIn } from "./built-in.ts";
import { unavailableTool } from "./define-tool.ts";

/** Coming soon (specification 1). */
export const gpuProvision = builtIn({
  name: "gpu_provision",
  docs: { price: "", does: "provisions a GPU" },
  make: () =>
    unavailableTool({
      name: "gpu_provision",
      description: "Provisions a GPU.",
      scope: "compute:run",
      billable: false,
    }),
});
