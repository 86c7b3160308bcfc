import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { RequestBodies, RequestLogService } from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import { pluralize } from "../../format.ts";
import { reload } from "../../reload.ts";
import { MutationDialog } from "../mutation-dialog.tsx";
import { Button, Card, ErrorNote, showToast, Skeleton, SelectField } from "../../ui/index.ts";

const BODIES = [
  [RequestBodies.NONE, "Of no request"],
  [RequestBodies.ERRORS, "Of requests that failed"],
  [RequestBodies.ALL, "Of all calls, free ones too"],
] as const;

const HOURS = [1, 24, 168, 720];

export function RequestLogCard() {
  const { data, error, refetch } = useQuery(RequestLogService.method.getRequestLogSettings, {});
  const set = useMutation(RequestLogService.method.setRequestLogSettings, {
    onSuccess: async () => {
      showToast("Saved");
      await reload(RequestLogService.method.getRequestLogSettings);
    },
  });
  const [asking, setAsking] = useState(false);
  return (
    <Card
      title="Request log"
      actions={
        <Button small onClick={() => setAsking(true)}>
          Delete all requests
        </Button>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} height={24} />}
      {data && (
        <>
          <SelectField
            label="Store params and results"
            hint="Encrypted, and for you alone."
            value={String(data.bodies)}
            options={BODIES.map(([value, label]) => ({ value: String(value), label }))}
            disabled={set.isPending}
            onChange={({ target }) => {
              const [bodies] = BODIES.find(([value]) => String(value) === target.value) ?? [data.bodies];
              set.mutate({ bodies, hours: data.hours });
            }}
          />
          <SelectField
            label="Keep requests for"
            value={String(data.hours)}
            options={hoursWith(data.hours).map((hours) => ({
              value: String(hours),
              label: hoursLabel(hours),
            }))}
            disabled={set.isPending}
            onChange={({ target }) => set.mutate({ bodies: data.bodies, hours: Number(target.value) })}
          />
        </>
      )}
      <ErrorNote error={set.error} />
      <DeleteDialog open={asking} onClose={() => setAsking(false)} />
    </Card>
  );
}

/** Another client may have chosen another time. */
function hoursWith(hours: number): readonly number[] {
  return HOURS.includes(hours) ? HOURS : [...HOURS, hours].sort((one, other) => one - other);
}

function hoursLabel(hours: number): string {
  return hours % 24 === 0 ? pluralize(hours / 24, "day") : pluralize(hours, "hour");
}

function DeleteDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <MutationDialog
      open={open}
      title="Delete all requests?"
      onClose={onClose}
      action="Delete all requests"
      tone="danger"
      method={RequestLogService.method.deleteRequests}
      input={() => ({})}
      onSuccess={() => reload("requests")}
      toast={({ deleted }) => `${pluralize(deleted, "request")} deleted`}
    >
      <p>Receipts, runs and the statement stay.</p>
    </MutationDialog>
  );
}
