import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery as useMethod } from "@connectrpc/connect-query";
import type { JsonObject } from "@bufbuild/protobuf";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useParams } from "wouter";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { truncateMiddle } from "../format.ts";
import { findSession } from "../rpc.ts";
import { useBlockedHint, useSignedIn, useSignOut } from "../session.tsx";
import {
  Button,
  ButtonLink,
  Card,
  EmptyState,
  ExternalLink,
  Facts,
  Money,
  Note,
  Page,
  Status,
} from "../ui/index.ts";
import { answerConsent, getConsent, type Consent } from "./connect/consent.ts";
import { LimitField } from "./keys/budget-fields.tsx";
import { ExpiryField, NameField, Scopes, Tools, type PartProps } from "./keys/key-fields.tsx";
import { KeyForm } from "./keys/key-form.tsx";
import { emptyForm, toConsent } from "./keys/key-form-values.ts";
import { QueryResult, useLoaded } from "./query-result.tsx";
import "./connect/connect.css";

// Both questions of an app are one chunk.
export { ApprovePage } from "./approve.tsx";

/** Asks the account holder whether an app may use the account, and how much it may spend. */
export function ConnectPage() {
  const { uid } = useParams<{ uid: string }>();
  const query = useQuery({ queryKey: ["consent", uid], queryFn: ({ signal }) => getConsent(uid, signal) });
  const balance = useMethod(BalanceService.method.getBalance, {}, { refetchInterval: 10_000 });
  const loaded = useLoaded(query, balance);
  const [answered, setAnswered] = useState<JsonObject>();
  const answer = useMutation({
    mutationFn: (given: JsonObject) => answerConsent(uid, given),
    onSuccess: (location, given) => {
      setAnswered(given);
      globalThis.location.assign(location);
    },
    onError: async (error) => {
      if (isCode(error, Code.Unauthenticated)) await findSession();
      if (isCode(error, Code.NotFound)) await query.refetch();
    },
  });
  const blockedHint = useBlockedHint();
  const name = query.data?.name;
  if (answered) return <Answered isAllowed={answered["approve"] === true} name={name ?? ""} />;
  return (
    <Page
      title={name === undefined ? "Connect an app" : `Connect “${name}”?`}
      lead={
        name === undefined
          ? undefined
          : "It asks to call tools and to spend your balance. You set the limits."
      }
      loading={!loaded}
    >
      {isCode(query.error, Code.NotFound) ? (
        <Gone />
      ) : (
        <QueryResult query={query} lines={10} height={24} box>
          {(consent) => (
            <>
              <Asking consent={consent} microUsd={balance.data?.balanceUsdcMicrousd} />
              <KeyForm
                name={uid}
                title="What it may do and spend"
                initial={{ ...emptyForm(consent.scopes), ...PROPOSED, name: consent.name }}
                submitLabel="Allow"
                cancelLabel="Deny"
                error={answer.error}
                isPending={answer.isPending && answer.variables["approve"] === true}
                blockedHint={blockedHint}
                onSubmit={(form, now, done) => answer.mutate(toConsent(form, now), { onSuccess: done })}
                onCancel={() => answer.mutate({ approve: false })}
                onDone={() => {}}
              >
                {(part) => <Fields offered={consent.scopes} {...part} />}
              </KeyForm>
            </>
          )}
        </QueryResult>
      )}
    </Page>
  );
}

function isCode(error: unknown, code: Code): boolean {
  return error instanceof ConnectError && error.code === code;
}

function Gone() {
  return (
    <Card>
      <EmptyState
        title="This request has expired"
        action={<ButtonLink href="/">Go to the overview</ButtonLink>}
      >
        It was answered, is too old, or belongs to another browser. Go back to the app and connect again.
      </EmptyState>
    </Card>
  );
}

function Answered({ isAllowed, name }: { isAllowed: boolean; name: string }) {
  return (
    <Page title={isAllowed ? `“${name}” is connected` : `“${name}” is not connected`}>
      <Card>
        <EmptyState
          title="Go back to the app"
          action={isAllowed && <ButtonLink href="/keys">Show connected apps</ButtonLink>}
        >
          You can close this tab.
        </EmptyState>
      </Card>
    </Page>
  );
}

/** Loopback hosts and schemes: redirects to a program on this computer (RFC 8252 section 7). */
const LOCAL = /^(?:127(?:\.\d+){3}|\[::1\]|[^.:]+)(?::\d+)?$/;

function Asking({
  consent: { host, isVerified, redirectHost },
  microUsd,
}: {
  consent: Consent;
  /** Balance; undefined if it could not be read. */
  microUsd: bigint | undefined;
}) {
  const { session } = useSignedIn();
  const signOut = useSignOut();
  const isLocal = LOCAL.test(redirectHost);
  return (
    <Card>
      <Facts
        facts={[
          ["Publisher", <Publisher key="host" host={host} isVerified={isVerified} />],
          ["Answer goes to", isLocal ? `A program on this computer (${redirectHost})` : redirectHost],
          [
            "Your account",
            <span className="row" key="account">
              <code title={session.wallet}>{truncateMiddle(session.wallet)}</code>
              <Button small tone="quiet" busy={signOut.isPending} onClick={() => signOut.mutate({})}>
                Use another account
              </Button>
            </span>,
          ],
          ["Balance", microUsd === undefined ? undefined : <Money key="balance" microUsd={microUsd} />],
        ]}
      />
      {(!isVerified || isLocal) && (
        <Note tone="warn" title="Allow it only if you have just started this yourself">
          {isVerified
            ? "Another program on this computer can ask in the name of this app."
            : "The app is not verified: any program can use this name."}
        </Note>
      )}
      {microUsd !== undefined && microUsd <= 0n && (
        <Note
          title="Your account has no balance"
          action={<ExternalLink href="/console/deposit">Deposit</ExternalLink>}
        >
          You can allow the app now. Until you deposit, it has to pay for each call itself.
        </Note>
      )}
    </Card>
  );
}

function Publisher({ host, isVerified }: Pick<Consent, "host" | "isVerified">) {
  return (
    <span className="row">
      {isVerified ? host : "Unknown"}
      {isVerified ? <Status kind="ok">Verified</Status> : <Status kind="warn">Not verified</Status>}
    </span>
  );
}

/** Budget that the form proposes. */
const PROPOSED = { perDay: "1.00", expires: "30" };

/** Fields below "More limits". */
const MORE = ["perCall", "perMonth", "inAll", "name", "tools"] as const;

function Fields({ offered, ...part }: PartProps & { offered: readonly string[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Scopes {...part} offered={offered} />
      <fieldset className="group">
        <legend className="legend">Budget</legend>
        <div className="form-columns">
          <LimitField name="perDay" {...part} />
          <ExpiryField {...part} />
        </div>
      </fieldset>
      <details
        className="connect-more"
        open={open || MORE.some((name) => part.fieldErrors[name] !== undefined)}
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary>More limits</summary>
        <div className="stack key-form">
          <div className="form-columns">
            <LimitField name="perCall" {...part} />
            <LimitField name="perMonth" {...part} />
            <LimitField name="inAll" {...part} />
            <NameField {...part} hint="The app’s name in your lists" />
          </div>
          <Tools {...part} />
        </div>
      </details>
    </>
  );
}
