import { useQuery } from "@connectrpc/connect-query";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { formatCount } from "../format.ts";
import { useSignedIn } from "../session.tsx";
import { selectTheme, type Theme } from "../theme.ts";
import { useTheme } from "../use-theme.ts";
import { Card, Choice, Columns, Copyable, Facts, Page } from "../ui/index.ts";
import { LowBalanceCard } from "./settings/low-balance-card.tsx";
import { RequestLogCard } from "./settings/request-log-card.tsx";
import { SessionsCard } from "./settings/sessions-card.tsx";
import { useLoaded } from "./use-loaded.ts";

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** Sessions, preferences and facts about the account and the gateway. */
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
