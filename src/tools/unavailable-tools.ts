import type { Tool } from "../domain/tools/tool.ts";
import { unavailableTool } from "./define-tool.ts";

export function unavailableInferenceChat(): Tool {
  return unavailableTool({
    name: "inference_chat",
    description:
      "Completes a conversation with a selectable language model. Not available on this installation: no model server is configured.",
    scope: "inference:write",
    billable: true,
  });
}

export function unavailableSandboxExecute(): Tool {
  return unavailableTool({
    name: "sandbox_execute",
    description:
      "Runs Python or JavaScript code in a sandbox without network and returns its output. Not available on this installation: its sandbox is off.",
    scope: "compute:run",
    billable: true,
  });
}

export function unavailableSandboxCancel(): Tool {
  return unavailableTool({
    name: "sandbox_cancel",
    description:
      "Ends an execution of sandbox_execute that is running. Not available on this installation: its sandbox is off.",
    scope: "compute:run",
    billable: false,
  });
}

/** Coming soon (specification 1). */
export function gpuProvision(): Tool {
  return unavailableTool({
    name: "gpu_provision",
    description: "Provisions a GPU.",
    scope: "compute:run",
    billable: false,
  });
}
