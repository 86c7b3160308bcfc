import { useQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { useCatalogue } from "../../rpc.ts";
import { useSignedIn } from "../../session.tsx";
import { Button, ButtonLink, Card, Code, Icon, Money } from "../../ui/index.ts";
import { firstCallFor } from "../keys/first-call.ts";
import { DEFAULT_SCOPES } from "../keys/key-form-values.ts";
import { curlSnippet } from "../playground/snippets.ts";
import type { FirstStepsState } from "./use-first-steps.ts";

/** Steps to the first paid call of a new account. Stays until dismissed, also when the call arrives. */
export function FirstSteps({ steps: { paid, dismiss } }: { steps: FirstStepsState }) {
  const keys = useQuery(KeyService.method.listKeys, {});
  const balance = useQuery(BalanceService.method.getBalance, {});
  const hasMoney = paid !== undefined || (balance.data?.balanceUsdcMicrousd ?? 0n) > 0n;
  const hasKey = keys.data?.keys.some(({ key }) => key !== undefined && key.revokedAt === undefined) === true;
  return (
    <Card
      title="First steps"
      actions={
        <Button small tone="quiet" onClick={dismiss}>
          Dismiss
        </Button>
      }
    >
      <ol className="steps-first">
        <Step done title="Sign in" action={undefined}>
          Your wallet is your account. No password is stored.
        </Step>
        <Step
          done={hasMoney}
          title="Deposit USDC"
          action={
            <ButtonLink href="/deposit" tone={hasMoney ? "plain" : "primary"}>
              Deposit
            </ButtonLink>
          }
        >
          Paid calls are charged to your balance. Without a balance, each call returns a quote that the agent
          pays itself.
        </Step>
        <Step
          done={hasKey}
          title="Create an API key"
          action={
            <ButtonLink
              href={hasKey ? "/keys" : "/keys?create"}
              tone={hasMoney && !hasKey ? "primary" : "plain"}
            >
              {hasKey ? "View keys" : "Create a key"}
            </ButtonLink>
          }
        >
          Your agent authenticates with it. Optional limits: price per call, spend per day, allowed tools,
          expiry date.
        </Step>
        <Step
          done={paid !== undefined}
          title="Let your agent make a paid call"
          action={<ButtonLink href="/playground">Try it in the playground</ButtonLink>}
        >
          <div role="status">
            {paid ? <FirstCall receipt={paid} /> : "Waiting for the first paid call. It appears here."}
          </div>
          {!paid && <Snippet />}
        </Step>
      </ol>
    </Card>
  );
}

function FirstCall({ receipt: { receiptId, tool, debitedUsdcMicrousd } }: { receipt: Receipt }) {
  return (
    <>
      The first paid call has arrived:{" "}
      <Link href={`/receipts/${receiptId}`}>
        {tool}, <Money microUsd={debitedUsdcMicrousd} />
      </Link>
    </>
  );
}

function Snippet() {
  const { installation } = useSignedIn();
  const catalogue = useCatalogue();
  const call = firstCallFor({ scopes: DEFAULT_SCOPES, tools: [] }, catalogue.data?.tools ?? []);
  return (
    <>
      <Code text={curlSnippet(installation.baseUrl, call)} label="first call" />
      <p className="hint">
        The key is read from <code>TOOLGATE_API_KEY</code>.
      </p>
    </>
  );
}

interface StepProps {
  done: boolean;
  title: string;
  action: ReactNode;
  children: ReactNode;
}

function Step({ done, title, action, children }: StepProps) {
  return (
    <li className={done ? "is-done" : undefined}>
      <span className="steps-first-mark">{done && <Icon name="check" />}</span>
      <div className="steps-first-text">
        <h3>
          {title}
          {done && <span className="hidden"> (done)</span>}
        </h3>
        <div>{children}</div>
      </div>
      {action}
    </li>
  );
}
