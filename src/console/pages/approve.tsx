import { Code, ConnectError } from "@connectrpc/connect";
import type { JsonObject } from "@bufbuild/protobuf";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { formatUsd, truncateMiddle } from "../format.ts";
import { findSession } from "../rpc.ts";
import { useBlockedHint, useSignedIn, useSignOut } from "../session.tsx";
import {
  Button,
  Card,
  Code as CodeBlock,
  EmptyState,
  ErrorNote,
  Facts,
  Money,
  Page,
  Status,
} from "../ui/index.ts";
import { type AppLimit, type Approval, decide, getApproval, neededFor } from "./approve/approval.ts";
import { RaiseLimits } from "./approve/raise-limits.tsx";
import { LIMITS } from "./keys/budget-fields.tsx";
import { QueryResult } from "./query-result.tsx";
import "./connect/connect.css";

/** What the page says after a decision. */
const DECIDED = {
  allow: "The call is allowed once",
  raise: "The limit is raised",
  refuse: "The call is refused",
} as const;

type Decision = keyof typeof DECIDED;

/** Asks the account holder about one call of an app that exceeds a limit. */
export function ApprovePage() {
  const { id } = useParams<{ id: string }>();
  const query = useQuery({ queryKey: ["approval", id], queryFn: ({ signal }) => getApproval(id, signal) });
  const [decided, setDecided] = useState<Decision>();
  const answer = useMutation({
    mutationFn: ({ decision, ...more }: { decision: Decision } & JsonObject) =>
      decide(id, { decision, ...more }),
    onSuccess: (_, { decision }) => setDecided(decision),
    onError: async (error) => {
      if (isCode(error, Code.Unauthenticated)) await findSession();
      if (isCode(error, Code.NotFound)) await query.refetch();
    },
  });
  const state = decided ?? (query.data && DECISIONS[query.data.state]);
  if (state) return <Decided decision={state} name={query.data?.name ?? ""} />;
  if (isCode(query.error, Code.NotFound)) return <Over />;
  const pending = answer.isPending ? answer.variables.decision : undefined;
  return (
    <Page
      title={query.data ? `Allow a call of “${query.data.name}”?` : "Allow a call?"}
      lead="It exceeds a limit that you set for this app."
      loading={query.isPending}
    >
      <QueryResult query={query} lines={10} height={24} box>
        {(approval) => (
          <>
            <Asked approval={approval} />
            <Actions
              approval={approval}
              pending={pending}
              error={answer.error}
              onDecide={(decision, more) => answer.mutate({ decision, ...more })}
            />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

const DECISIONS: Readonly<Record<Approval["state"], Decision | undefined>> = {
  asked: undefined,
  allowed: "allow",
  refused: "refuse",
};

function isCode(error: unknown, code: Code): boolean {
  return error instanceof ConnectError && error.code === code;
}

function Decided({ decision, name }: { decision: Decision; name: string }) {
  return (
    <Page title={DECIDED[decision]}>
      <Card>
        <EmptyState title={`Go back to “${name}”`}>
          {decision === "refuse"
            ? "It cannot ask for the same call again in the next 15 minutes. You can close this tab."
            : "The call goes on by itself, or when the app repeats it. You can close this tab."}
        </EmptyState>
      </Card>
    </Page>
  );
}

function Over() {
  return (
    <Page title="Nothing to decide">
      <Card>
        <EmptyState title="This request is over" action={<Account />}>
          It was used, is older than 15 minutes, or belongs to another account. Repeat the call in the app.
        </EmptyState>
      </Card>
    </Page>
  );
}

function Account() {
  const { session } = useSignedIn();
  const signOut = useSignOut();
  return (
    <span className="row">
      <code title={session.wallet}>{truncateMiddle(session.wallet)}</code>
      <Button small tone="quiet" busy={signOut.isPending} onClick={() => signOut.mutate({})}>
        Use another account
      </Button>
    </span>
  );
}

function Asked({ approval }: { approval: Approval }) {
  const { name, host, isVerified, tool, params, price, limits } = approval;
  return (
    <Card>
      <Facts
        facts={[
          [
            "App",
            <span className="row" key="app">
              {name}
              {isVerified ? <Status kind="ok">{host}</Status> : <Status kind="warn">Not verified</Status>}
            </span>,
          ],
          ["Tool", <code key="tool">{tool}</code>],
          ["Parameters", <CodeBlock key="params" text={params} label="Parameters" wrap />],
          ["Price, at most", <Money key="price" microUsd={price} strong />],
          ["Your account", <Account key="account" />],
          ...limits.map((limit) => [LIMITS[limit.name].label, limitOf(approval, limit)] as const),
        ]}
      />
    </Card>
  );
}

function limitOf(approval: Approval, limit: AppLimit) {
  const text =
    limit.name === "perCall"
      ? formatUsd(limit.limit)
      : `${formatUsd(limit.spent)} of ${formatUsd(limit.limit)} spent`;
  return (
    <span className="row">
      <span className="money">{text}</span>
      {neededFor(approval, limit) !== undefined && <Status kind="warn">Exceeded by this call</Status>}
    </span>
  );
}

function Actions({
  approval,
  pending,
  error,
  onDecide,
}: {
  approval: Approval;
  pending: Decision | undefined;
  error: Error | null;
  onDecide: (decision: Decision, more?: JsonObject) => void;
}) {
  const [raises, setRaises] = useState(false);
  const blockedHint = useBlockedHint();
  if (raises)
    return (
      <RaiseLimits
        approval={approval}
        error={error}
        isPending={pending === "raise"}
        onRaise={(limits) => onDecide("raise", { limits })}
        onCancel={() => setRaises(false)}
      />
    );
  return (
    <Card>
      <div className="stack">
        <ErrorNote error={error} />
        <div className="actions">
          <Button
            tone="primary"
            busy={pending === "allow"}
            disabled={blockedHint !== undefined}
            onClick={() => onDecide("allow")}
          >
            Allow once
          </Button>
          <Button disabled={blockedHint !== undefined} onClick={() => setRaises(true)}>
            Raise the limit
          </Button>
          <Button busy={pending === "refuse"} onClick={() => onDecide("refuse")}>
            Refuse
          </Button>
          {blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
        </div>
      </div>
    </Card>
  );
}
