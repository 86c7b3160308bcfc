import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { SessionService, type Session } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { reload } from "../../reload.ts";
import { useSignOutEverywhere } from "../../session.tsx";
import {
  Button,
  Card,
  EmptyState,
  ErrorNote,
  Status,
  Table,
  showToast,
  Time,
  type Column,
  ActionDialog,
  actionColumn,
} from "../../ui/index.ts";

export function SessionsCard() {
  const { data, error, refetch } = useQuery(SessionService.method.listSessions, {});
  const [asking, setAsking] = useState(false);
  const revoke = useMutation(SessionService.method.revokeSession, {
    onSuccess: async () => {
      showToast("Session ended");
      await reload(SessionService.method.listSessions);
    },
  });
  const ending = revoke.isPending ? revoke.variables.sessionId : undefined;
  const columns: readonly Column<Session>[] = [
    { head: "Session", cell: (session) => <Name session={session} /> },
    { head: "Address", cell: ({ address }) => <code>{address}</code> },
    { head: "Signed in", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    { head: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
    { head: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    actionColumn(
      ({ current, sessionId }) =>
        !current && (
          <Button small tone="quiet" busy={ending === sessionId} onClick={() => revoke.mutate({ sessionId })}>
            End session
          </Button>
        ),
    ),
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
    <ActionDialog
      open={open}
      title="Sign out everywhere?"
      onClose={onClose}
      action="Sign out everywhere"
      tone="danger"
      busy={isPending}
      error={error}
      onAction={() => mutate({})}
    >
      <p>All sessions end, including this one. API keys keep working.</p>
    </ActionDialog>
  );
}

/** Patterns for User-Agent headers. Order matters: Edge and Opera also claim to be Chrome. */
const BROWSERS: readonly [mark: RegExp, name: string][] = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\/|Chromium\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: readonly [mark: RegExp, name: string][] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Linux|X11/, "Linux"],
];

/** Returns a short name for a User-Agent header, or its first 40 characters. */
function browserOf(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1];
  const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
  if (browser === undefined) return userAgent === "" ? "Unknown browser" : userAgent.slice(0, 40);
  return system === undefined ? browser : `${browser} on ${system}`;
}
