import { escapeMarkup } from '../../protocol/index.ts';
import type { Finding, Outcome, Report } from './finding.ts';

const outcomes: readonly Outcome[] = ['passed', 'failed', 'warning', 'skipped'];

/** The report as one page without scripts and external resources. */
export function reportHtml(report: Report): string {
  const { agent, name, checkedAt, counts, findings } = report;
  const subjects = [...new Set(findings.map(({ subject }) => subject))];
  const title = `Check of ${name ?? agent}`;
  const totals = Array.from(
    outcomes,
    (outcome) => `<li class="${outcome}"><b>${counts[outcome]}</b> ${outcome}</li>`,
  ).join('');
  const sections = subjects
    .map((subject) =>
      section(
        subject,
        findings.filter((one) => one.subject === subject),
      ),
    )
    .join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeMarkup(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escapeMarkup(title)}</h1>
<p>${escapeMarkup(agent)}, ${escapeMarkup(checkedAt)}</p>
<ul class="totals">${totals}</ul>
${sections}
</body>
</html>
`;
}

function section(subject: string, findings: readonly Finding[]): string {
  const rows = findings.map(row).join('\n');
  return `<h2>${escapeMarkup(subject)}</h2>
<table>
<thead><tr><th>outcome</th><th>what</th><th>seen, and how to fix it</th></tr></thead>
<tbody>
${rows}
</tbody>
</table>`;
}

function row({ outcome, title, id, detail, fix, specification }: Finding): string {
  const place = specification === undefined ? id : `${id}, ${specification}`;
  const seen = detail === undefined ? '' : `<p>${escapeMarkup(detail)}</p>`;
  const remedy = fix === undefined ? '' : `<p><b>Fix:</b> ${escapeMarkup(fix)}</p>`;
  return `<tr class="${outcome}"><td>${outcome}</td><td>${escapeMarkup(title)}<small>${escapeMarkup(place)}</small></td><td>${seen}${remedy}</td></tr>`;
}

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:64rem;margin:2rem auto;padding:0 1rem}
table{width:100%;border-collapse:collapse}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #8884}
td p{margin:0}small{display:block;opacity:.75}
.totals{display:flex;flex-wrap:wrap;gap:1.5rem;padding:0;list-style:none}
.failed td:first-child,li.failed{color:light-dark(#b00020,#ff8a80);font-weight:600}
.warning td:first-child,li.warning{color:light-dark(#7a4f00,#ffd180)}
.passed td:first-child,li.passed{color:light-dark(#0b6b2e,#8ce99a)}
.skipped{opacity:.7}
`;
