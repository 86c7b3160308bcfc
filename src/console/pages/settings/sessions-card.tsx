import { createConnectQueryKey, useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { SessionService, type Session } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { queryClient } from "../../rpc.ts";
import { useSignOutEverywhere } from "../../session.tsx";
import {
  Button,
  Card,
  Dialog,
  EmptyState,
  ErrorNote,
  Status,
  Table,
  showToast,
  Time,
  type Column,
} from "../../ui/index.ts";
import { browserOf } from "./browser.ts";

const LIST = createConnectQueryKey({ schema: SessionService.method.listSessions, cardinality: "finite" });

/** Lists and ends the account's sessions. */
export function SessionsCard() {
  const { data, error, refetch } = useQuery(SessionService.method.listSessions, {});
  const [asking, setAsking] = useState(false);
  const revoke = useMutation(SessionService.method.revokeSession, {
    onSuccess: async () => {
      showToast("Session ended");
      await queryClient.invalidateQueries({ queryKey: LIST });
    },
  });
  const ending = revoke.isPending ? revoke.variables.sessionId : undefined;
  const columns: readonly Column<Session>[] = [
    { head: "Session", cell: (session) => <Name session={session} /> },
    { head: "Address", cell: ({ address }) => <code>{address}</code> },
    { head: "Signed in", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
    { head: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    {
      head: "Actions",
      hideHead: true,
      align: "end",
      cell: ({ current, sessionId }) =>
        !current && (
          <Button small tone="quiet" busy={ending === sessionId} onClick={() => revoke.mutate({ sessionId })}>
            End session
          </Button>
        ),
    },
  ];
  return (
    <Card
      title="Sessions"
      note="where you are signed in"
      flush
      actions={
        <Button small onClick={() => setAsking(true)}>
          Sign out everywhere
        </Button>
      }
    >
      {(error ?? revoke.error) && (
        <div className="pad">
          <ErrorNote error={error ?? revoke.error} onRetry={() => void refetch()} />
        </div>
      )}
      {!error && (
        <Table
          caption="Sessions"
          columns={columns}
          rows={data?.sessions}
          rowKey={({ sessionId }) => sessionId}
          empty={<EmptyState title="No sessions" />}
        />
      )}
      <SignOutEverywhere open={asking} onClose={() => setAsking(false)} />
    </Card>
  );
}

function Name({ session: { userAgent, current } }: { session: Session }) {
  return (
    <span className="row" title={userAgent}>
      {browserOf(userAgent)}
      {current && <Status kind="ok">This session</Status>}
    </span>
  );
}

function SignOutEverywhere({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { mutate, error, isPending } = useSignOutEverywhere();
  return (
    <Dialog
      open={open}
      title="Sign out everywhere?"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="danger" busy={isPending} onClick={() => mutate({})}>
            Sign out everywhere
          </Button>
        </>
      }
    >
      <p>All sessions end, including this one. API keys keep working.</p>
      <ErrorNote error={error} />
    </Dialog>
  );
}
