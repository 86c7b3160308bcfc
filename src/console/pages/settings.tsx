import { useQuery, useMutation } from "@connectrpc/connect-query";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { formatCount, formatUsd, MAX_USD, parseUsd, formatPlainUsd } from "../format.ts";
import { useSignedIn } from "../session.tsx";
import { selectTheme, useTheme, type Theme } from "../theme.ts";
import {
  Card,
  Choice,
  Columns,
  Copyable,
  Facts,
  Page,
  Button,
  ErrorNote,
  Field,
  Input,
  Skeleton,
  showToast,
} from "../ui/index.ts";
import { RequestLogCard } from "./settings/request-log-card.tsx";
import { SessionsCard } from "./settings/sessions-card.tsx";
import { useLoaded } from "./query-result.tsx";
import { useState, type FormEvent } from "react";
import { reload } from "../reload.ts";

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

export function SettingsPage() {
  const theme = useTheme();
  const sessions = useQuery(SessionService.method.listSessions, {});
  const balance = useQuery(BalanceService.method.getBalance, {});
  return (
    <Page title="Settings" loading={!useLoaded(sessions, balance)}>
      <SessionsCard />
      <Columns>
        <LowBalanceCard />
        <RequestLogCard />
        <Card title="Appearance" note="on this device">
          <div>
            <Choice label="Theme" options={THEMES} value={theme} onChange={selectTheme} />
          </div>
        </Card>
      </Columns>
      <AccountCard />
    </Page>
  );
}

function AccountCard() {
  const { session, installation } = useSignedIn();
  const { data: limits } = useQuery(BalanceService.method.getBalance, {});
  const mcp = `${installation.baseUrl}/mcp`;
  return (
    <>
      <Card title="Account">
        <Facts
          facts={[
            ["Account", <Copyable key="account" text={session.accountId} label="account identifier" />],
            ["Wallet", <Copyable key="wallet" text={session.wallet} label="wallet address" />],
            ["Role", session.operator ? "operator" : "customer"],
            [
              "Rate limit per key",
              limits &&
                `${formatCount(limits.ratePerMinute)} requests/min, bursts of ${formatCount(limits.burst)}`,
            ],
            [
              "Rate limit per account",
              limits &&
                `${formatCount(limits.accountRatePerMinute)} requests/min, bursts ` +
                  `of ${formatCount(limits.accountBurst)}`,
            ],
            [
              "Unpaid requests",
              limits &&
                `${formatCount(limits.unpaidMsPerMinute)} ms of computing time/min, bursts ` +
                  `of ${formatCount(limits.unpaidBurstMs)} ms; paid calls take none`,
            ],
            ["Keys", limits && `up to ${formatCount(limits.keyLimit)}`],
          ]}
        />
      </Card>
      <Card title="This gateway" note={`version ${installation.version}`}>
        <Facts
          facts={[
            ["HTTP and Connect", <Copyable key="http" text={installation.baseUrl} label="base URL" />],
            ["MCP", <Copyable key="mcp" text={mcp} label="MCP endpoint" />],
            ["gRPC", <Copyable key="grpc" text={installation.grpcAddress} label="gRPC address" />],
            ["Treasury", <Copyable key="owner" text={installation.treasuryOwner} label="treasury wallet" />],
            ["Token account", <Copyable key="token" text={installation.payTo} label="token account" />],
            ["USDC mint", <Copyable key="mint" text={installation.usdcMint} label="USDC mint" />],
            [
              "Network fees",
              installation.gasless
                ? "none for wallet payments that the gateway submits; otherwise paid by the payer"
                : "paid by the payer",
            ],
          ]}
        />
      </Card>
    </>
  );
}

/** Sets the balance below which the console warns. */
function LowBalanceCard() {
  const { data, error, refetch } = useQuery(BalanceService.method.getBalance, {});
  return (
    <Card title="Low balance" note="warning threshold">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} height={24} />}
      {data && (
        <ThresholdForm
          key={String(data.lowBalanceUsdcMicrousd)}
          now={data.lowBalanceUsdcMicrousd}
          balance={data.balanceUsdcMicrousd}
        />
      )}
    </Card>
  );
}

function ThresholdForm({ now, balance }: { now: bigint | undefined; balance: bigint }) {
  const before = now === undefined ? "" : formatPlainUsd(now);
  const [text, setText] = useState(before);
  const [fieldError, setFieldError] = useState<string>();
  const { mutate, error, isPending } = useMutation(BalanceService.method.setLowBalance, {
    onSuccess: async () => {
      showToast("Saved");
      await reload(BalanceService.method.getBalance);
    },
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    const amount = parseUsd(text);
    if (text.trim() !== "" && amount === undefined)
      return setFieldError("Enter an amount, such as 25 or 12.50.");
    if (amount !== undefined && amount > MAX_USD) return setFieldError("Maximum $1,000,000,000.");
    mutate(amount === undefined ? {} : { lowBalanceUsdcMicrousd: amount });
  };
  return (
    <form className="stack" onSubmit={save} noValidate>
      <Field
        label="Warn below"
        error={fieldError}
        hint={`Leave empty for no warning. Current balance: ${formatUsd(balance)}.`}
      >
        {(control) => (
          <div className="row row-even">
            <Input
              {...control}
              unit="$"
              inputMode="decimal"
              placeholder="Never"
              value={text}
              onChange={({ target }) => {
                setText(target.value);
                setFieldError(undefined);
              }}
            />
            <Button type="submit" busy={isPending} disabled={text.trim() === before}>
              Save
            </Button>
          </div>
        )}
      </Field>
      <ErrorNote error={error} />
    </form>
  );
}
