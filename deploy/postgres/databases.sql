-- The worker and the gateway of compose.yml have stores of their own.
create database worker;
create database gateway;
