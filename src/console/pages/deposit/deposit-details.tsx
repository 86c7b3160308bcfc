import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { DepositService, DepositState, type Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatUsd } from "../../format.ts";
import { Button, ButtonLink, Card, Copyable, ErrorNote, Note, Time, Icon } from "../../ui/index.ts";
import { useSignedIn } from "../../session.tsx";
import { QueryResult } from "../query-result.tsx";
import { Transaction } from "../on-chain.tsx";
import { PayFromAnotherWallet } from "./pay-from-another-wallet.tsx";
import { PayWithWallet } from "./pay-with-wallet.tsx";
import { isCancellable, isPayable, pollIntervalMs, headline, stepsOf, type StepState } from "./steps.ts";

/** The progress of a deposit and the ways to pay it. `children` follow once it has loaded. */
export function DepositDetails({ id, children }: { id: string; children: ReactNode }) {
  const query = useQuery(
    DepositService.method.getDeposit,
    { depositId: id },
    // React Query stops this interval while the tab is hidden.
    {
      staleTime: 0,
      refetchInterval: ({ state }) => pollIntervalMs(state.data?.deposit?.state ?? DepositState.WAITING),
    },
  );
  useRefreshOnStateChange(query.data?.deposit?.state);
  return (
    <>
      <QueryResult query={query} lines={8} height={28} box>
        {({ deposit }) => deposit && <DepositView deposit={deposit} onSent={() => void query.refetch()} />}
      </QueryResult>
      {!query.isPending && children}
    </>
  );
}

function DepositView({ deposit, onSent }: { deposit: Deposit; onSent: () => void }) {
  const { state, amountUsdcMicrousd, depositId, createdAt, txSignature } = deposit;
  const { rpcUrl } = useSignedIn().installation;
  return (
    <>
      <Card>
        <div className="deposit-head">
          <p className="deposit-amount">{formatUsd(amountUsdcMicrousd)}</p>
          <p className="faint">
            <Copyable text={depositId} label="deposit id" /> started <Time at={createdAt} relative />
          </p>
        </div>
        <Progress deposit={deposit} />
        {txSignature !== undefined && <Transaction signature={txSignature} />}
        <Outcome deposit={deposit} />
        {isCancellable(state) && <CancelDeposit depositId={depositId} onCancelled={onSent} />}
      </Card>
      {isPayable(state) && (
        <div className="pay-ways">
          <PayWithWallet deposit={deposit} onSent={onSent} />
          {rpcUrl === undefined ? <PayFromAnotherWallet deposit={deposit} /> : <LocalChain rpcUrl={rpcUrl} />}
        </div>
      )}
    </>
  );
}

/** No code to scan: a phone's wallet would send real USDC. */
function LocalChain({ rpcUrl }: { rpcUrl: string }) {
  return (
    <Note tone="warn" title="Send no real USDC">
      This gateway looks for payments on the local chain of {rpcUrl} only.
    </Note>
  );
}

function CancelDeposit({ depositId, onCancelled }: { depositId: string; onCancelled: () => void }) {
  const { mutate, error, isPending } = useMutation(DepositService.method.cancelDeposit, {
    onSuccess: onCancelled,
  });
  return (
    <>
      <div>
        <Button small tone="quiet" busy={isPending} onClick={() => mutate({ depositId })}>
          Cancel deposit
        </Button>
      </div>
      <ErrorNote error={error} />
    </>
  );
}

/** Shows an outcome that the steps cannot express. */
function Outcome({
  deposit: { state, failure, amountUsdcMicrousd, creditedUsdcMicrousd },
}: {
  deposit: Deposit;
}) {
  switch (state) {
    case DepositState.CREDITED:
      return (
        <Note
          tone="ok"
          title={`${formatUsd(creditedUsdcMicrousd)} is on your balance`}
          action={
            <span className="actions">
              <ButtonLink href="/deposit" small>
                Deposit more
              </ButtonLink>
              <ButtonLink href="/" small>
                Overview
              </ButtonLink>
            </span>
          }
        >
          {creditedUsdcMicrousd !== amountUsdcMicrousd && `Requested: ${formatUsd(amountUsdcMicrousd)}.`}
        </Note>
      );
    case DepositState.FAILED:
      return (
        <Note tone="bad" title="The transaction failed; no USDC was moved">
          {failure !== undefined && <p>Error: {failure}</p>}
          <p>Only the network fee was charged. You can pay again below.</p>
        </Note>
      );
    case DepositState.UNASSIGNED:
      return (
        <Note tone="warn" title="A payment arrived without this deposit's memo">
          {failure !== undefined && <p>{failure}</p>}
          <p>
            The payment is safe. Send its signature to the operator, and do not pay again until you have an
            answer.
          </p>
        </Note>
      );
    case DepositState.CANCELLED:
      return (
        <Note title="This deposit was cancelled">
          A transfer with its memo that still arrives is credited to your balance.
        </Note>
      );
    default:
      return null;
  }
}

function useRefreshOnStateChange(state: DepositState | undefined): void {
  const queries = useQueryClient();
  const before = useRef(state);
  useEffect(() => {
    const earlier = before.current;
    before.current = state;
    if (earlier === undefined || earlier === state) return;
    void queries.invalidateQueries(state === DepositState.CREDITED ? {} : { queryKey: ["list", "deposits"] });
  }, [state, queries]);
}

const STEP_STATE_LABELS: Readonly<Record<StepState, string>> = {
  done: "done",
  now: "in progress",
  later: "pending",
  failed: "failed",
};

/** The steps of a deposit; changes are announced to screen readers. */
function Progress({ deposit }: { deposit: Deposit }) {
  const steps = stepsOf(deposit.state);
  return (
    <div className="progress">
      <p className="progress-headline" role="status" aria-live="polite">
        {headline(deposit.state)}
      </p>
      {steps.length > 0 && (
        <ol>
          {steps.map(({ name, state, text }) => (
            <li
              key={name}
              className={`progress-${state}`}
              aria-current={state === "now" ? "step" : undefined}
            >
              <span className="progress-mark">
                {state === "done" && <Icon name="check" />}
                {state === "failed" && <Icon name="cross" />}
              </span>
              <span className="progress-name">
                {name}
                <span className="hidden">: {STEP_STATE_LABELS[state]}</span>
              </span>
              <span className="progress-text">{text}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
