import { useQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { useSignedIn } from "../../session.tsx";
import { ButtonLink, Card, Code, Icon } from "../../ui/index.ts";

/** Steps to the first call for a new account; completed ones are checked off. */
export function FirstSteps() {
  const keys = useQuery(KeyService.method.listKeys, {});
  const balance = useQuery(BalanceService.method.getBalance, {});
  const { installation } = useSignedIn();
  const hasKey = keys.data?.keys.some(({ key }) => key !== undefined && key.revokedAt === undefined) === true;
  const hasMoney = (balance.data?.balanceUsdcMicrousd ?? 0n) > 0n;
  return (
    <Card title="First steps">
      <ol className="steps-first">
        <Step
          done={hasKey}
          title="Create an API key"
          action={
            <ButtonLink href={hasKey ? "/keys" : "/keys?create"} tone={hasKey ? "plain" : "primary"}>
              {hasKey ? "View keys" : "Create a key"}
            </ButtonLink>
          }
        >
          Your agent authenticates with it. Optional limits: price per call, spend per day, allowed tools,
          expiry date.
        </Step>
        <Step
          done={hasMoney}
          title="Deposit USDC"
          action={
            <ButtonLink href="/deposit" tone={hasKey && !hasMoney ? "primary" : "plain"}>
              Deposit
            </ButtonLink>
          }
        >
          Paid calls are charged to your balance. Without a balance, each call returns a quote that the agent
          pays itself.
        </Step>
        <Step
          done={false}
          title="Make a call"
          action={<ButtonLink href="/playground">Try it in the playground</ButtonLink>}
        >
          Replace <code>sk-agent-…</code> with your key:
          <Code text={firstCall(installation.baseUrl)} label="first call" />
        </Step>
      </ol>
    </Card>
  );
}

function Step({
  done,
  title,
  action,
  children,
}: {
  done: boolean;
  title: string;
  action: ReactNode;
  children: ReactNode;
}) {
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

function firstCall(baseUrl: string): string {
  return [
    `curl -s ${baseUrl}/v1/mcp/tools/call \\`,
    "  -H 'Authorization: Bearer sk-agent-…' -H 'Content-Type: application/json' \\",
    `  -d '{"tool":"vram_estimate","params":{"parameters_b":8}}'`,
  ].join("\n");
}
