import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useEffect } from "react";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { queryClient } from "../../../rpc.ts";
import { Button, Dialog, ErrorNote, showToast, Skeleton } from "../../../ui/index.ts";
import { PlanResult } from "./plan-result.tsx";

/** Shows what returning to a version changes, and does it. */
export function RollbackDialog({ version, onClose }: { version: number; onClose: () => void }) {
  const stored = useQuery(OperationsService.method.getConfigVersion, { version });
  const plan = useMutation(OperationsService.method.planConfig);
  const roll = useMutation(OperationsService.method.rollBackConfig, {
    onSuccess: async (applied) => {
      showToast(`Version ${applied.version} is in force`);
      onClose();
      await queryClient.invalidateQueries();
    },
  });
  const document = stored.data?.document;
  const { mutate } = plan;
  useEffect(() => {
    if (document !== undefined) mutate({ document });
  }, [document, mutate]);
  return (
    <Dialog
      open
      title={`Roll back to version ${version}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            tone="primary"
            busy={roll.isPending}
            disabled={!plan.data || plan.data.changes.length === 0}
            onClick={() => roll.mutate({ version, expectedVersion: plan.data?.version ?? 0 })}
          >
            Roll back
          </Button>
        </>
      }
    >
      <p>The version is applied again under a new number.</p>
      <ErrorNote error={stored.error ?? plan.error ?? roll.error} />
      {plan.data ? <PlanResult plan={plan.data} /> : !plan.error && <Skeleton lines={3} />}
    </Dialog>
  );
}
